#include "harness/cuda_compiler/libraries.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace klab::cuda_compiler {
namespace {
namespace fs = std::filesystem;

struct Library {
  const char* header;
  const char* name;
};
constexpr std::array kLibraries = {
    Library{"cublasXt", "the device library cuBLAS-XT"},
    Library{"curand_", "the device library cuRAND"},
    Library{"cufftw", "cuFFT's interface of FFTW"},
    Library{"cufftMp", "cuFFT for several nodes"},
    Library{"cufftdx", "cuFFT in kernels"},
    Library{"cusparseLt", "the device library cuSPARSELt"},
    Library{"cusolver", "the device library cuSOLVER"},
    Library{"cudnn", "the device library cuDNN"},
    Library{"nvrtc", "run-time compilation (NVRTC)"},
    Library{"cub/", "CUB, where no toolkit with its headers is installed,"},
    Library{"thrust/", "Thrust, where no toolkit with its headers is installed,"},
    Library{"cuda/std", "libcu++, where no toolkit with its headers is installed,"},
    Library{"cuda/", "libcu++"},
    Library{"nccl", "NCCL"},
    Library{"cuda_gl_interop", "OpenGL"},
    Library{"npp", "NPP"},
    Library{"cutlass/", "CUTLASS"}};

const Library* library_of(const std::string& header) {
  const auto found =
      std::ranges::find_if(kLibraries, [&](const Library& l) { return header.starts_with(l.header); });
  return found == kLibraries.end() ? nullptr : &*found;
}
std::string no_library(const std::string& where, const std::string& header, const Library& l) {
  return where + header + ": " + l.name + " cannot run on the host; it needs a GPU and NVIDIA's toolkit\n";
}

/// Returns the folders in options: "-Idir", "-I dir", "-isystem dir".
std::vector<fs::path> folders_in(const std::vector<std::string>& options) {
  std::vector<fs::path> list;
  for (size_t k = 0; k < options.size(); ++k) {
    const std::string& o = options[k];
    if ((o == "-I" || o == "-isystem") && k + 1 < options.size())
      list.emplace_back(options[k + 1]);
    else if (o.starts_with("-I"))
      list.emplace_back(o.substr(2));
  }
  return list;
}

/// What CUB's headers of launches need. They include it themselves only for nvcc.
constexpr const char* kLauncher =
    "#if __has_include(<cub/detail/launcher/cuda_runtime.cuh>)\n"
    "#include <cub/detail/launcher/cuda_runtime.cuh>\n"
    "#endif\n";

/// Sets whether NV_IF_TARGET chooses code for compute capability 9.0. A kernel of CUB's transforms that copies in bulk is empty without
/// it.
std::string provides_sm_90(bool yes) {
  const std::string macro = "_NV_TARGET_BOOL___NV_PROVIDES_SM_90";
  return "#undef " + macro + "\n#define " + macro + (yes ? " 1\n" : " 0\n");
}

/// Finds the folder of Thrust's headers. Since CUDA 13 a toolkit has them in a folder of their own.
fs::path header_libraries(const std::vector<std::string>& given) {
  std::vector<fs::path> folders = folders_in(given);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable); value != nullptr)
      folders.push_back(fs::path(value) / "include");
  folders.emplace_back("/usr/local/cuda/include");
  std::error_code error;
  for (const fs::path& folder : folders)
    for (const fs::path& at : {folder, folder / "cccl"})
      if (fs::exists(at / "thrust/version.h", error) && fs::exists(at / "cuda/std/version", error)) return at;
  return {};
}

/// Lists the public headers. Headers in folders called detail or with names that begin with __ are left out,
/// and so are those that klab replaces.
std::vector<fs::path> public_headers(const fs::path& top, const fs::path& klab) {
  std::vector<fs::path> list;
  for (const char* part : {"thrust", "cub", "cuda/std"})
    for (auto at = fs::recursive_directory_iterator(top / part); at != fs::recursive_directory_iterator();
         ++at) {
      const std::string name = at->path().filename();
      if (at->is_directory() &&
          (name == "detail" || name == "cuda" || name == "tbb" || name.starts_with("__")))
        at.disable_recursion_pending();
      else if (at->is_regular_file())
        list.push_back(fs::relative(at->path(), top));
    }
  for (const auto& one : fs::directory_iterator(top / "cuda"))
    if (one.is_regular_file() && !fs::exists(klab / "cuda" / one.path().filename()))
      list.push_back(fs::relative(one.path(), top));
  return list;
}

}  // namespace

std::string library_in(const std::string& preprocessed, bool (*is_foreign)(const std::string& file),
                       const std::string& own) {
  std::istringstream in(preprocessed);
  std::string file;
  int line_number = 0;
  for (std::string line; std::getline(in, line);) {
    const size_t open = line.find('"'), close = line.rfind('"');
    if (!line.starts_with("# ") || open == std::string::npos || close <= open) {
      ++line_number;
      continue;
    }
    const std::string name = line.substr(open + 1, close - open - 1);
    if (line.compare(close + 1, 2, " 1") == 0 && !is_foreign(file) && !name.starts_with(own)) {
      const std::string include = "/include/";
      const size_t at = name.rfind(include);
      const std::string header = at == std::string::npos ? "" : name.substr(at + include.size());
      if (const Library* l = library_of(header); l != nullptr && is_foreign(name))
        return no_library(file + ":" + std::to_string(line_number) + ": ", header, *l);
    }
    file = name;
    line_number = std::atoi(line.c_str() + 2);
  }
  return "";
}

std::string about_headers(const std::string& words) {
  static const std::regex missing(R"(([^\n:]+):(\d+):\d+: fatal error: ([^:\n]+): No such file)");
  std::smatch m;
  if (!std::regex_search(words, m, missing)) return words;
  const std::string header = m[3], where = m[1].str() + ":" + m[2].str() + ": ";
  if (const Library* l = library_of(header); l != nullptr) return no_library(where, header, *l);
  return where + "no header " + header + "; -I names the folder it lies in\n";
}

bool is_device_library(const std::string& file) {
  return file.find("/include/cub/") != std::string::npos || file.find("/cccl/") != std::string::npos;
}

bool is_header_library(const std::string& file) {
  return file.find("/klab_libraries/") != std::string::npos || file.find("/thrust/") != std::string::npos ||
         file.find("/cuda/std/") != std::string::npos || file.find("/cccl/") != std::string::npos;
}

bool misses_header_library(const std::string& words) {
  static const std::regex missing(R"(fatal error: (thrust/|cub/|cuda/|nv/)[^\n]*: No such file)");
  return std::regex_search(words, missing);
}

std::vector<std::string> header_library_options(const std::vector<std::string>& given, const fs::path& folder,
                                                const fs::path& klab) {
  const fs::path top = header_libraries(given);
  if (top.empty()) return {};
  // Each of their headers gets a wrapper that hides the macros of a GPU compiler.
  const fs::path before = folder / "klab_libraries";
  for (const fs::path& header : public_headers(top, klab)) {
    fs::create_directories((before / header).parent_path());
    const std::string name = header.string();
    // The parts of CUB that launch kernels are host code.
    const std::string device = name.starts_with("cub/device/") ? "_host"
                               : name.starts_with("cub/")      ? "_device"
                                                               : "";
    const bool is_transform = name == "cub/device/dispatch/kernels/transform.cuh";
    std::ofstream(before / header) << "#include <klab_libraries/begin" << device << ".h>\n"
                                   << (is_transform ? provides_sm_90(true) : "") << "#include_next <" << name
                                   << ">\n"
                                   << (is_transform ? provides_sm_90(false) : "")
                                   << (name == "thrust/execution_policy.h"
                                           ? "#include <thrust/system/cuda/execution_policy.h>\n"
                                           : "")
                                   << (name.starts_with("cub/device/dispatch/dispatch_") ? kLauncher : "")
                                   << "#include <klab_libraries/end" << device << ".h>\n";
  }
  return {"-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP",
          "-DNVTX_DISABLE",
          "-DCCCL_DISABLE_NVTX",
          "-DCCCL_DISABLE_FP16_SUPPORT",
          "-DCCCL_DISABLE_BF16_SUPPORT",
          "-DCCCL_DISABLE_NVFP8_SUPPORT",
          "-isystem",
          before.string(),
          "-isystem",
          (klab / "klab_libraries").string(),
          "-isystem",
          klab.string(),
          "-isystem",
          top.string()};
}

std::vector<std::string> without_toolkits(const std::vector<std::string>& options) {
  std::vector<std::string> kept;
  std::error_code error;
  const auto is_toolkit = [&](const std::string& folder) {
    return fs::exists(fs::path(folder) / "cuda_runtime_api.h", error) &&
           fs::exists(fs::path(folder) / "crt/host_config.h", error);
  };
  for (size_t k = 0; k < options.size(); ++k) {
    const std::string& o = options[k];
    if ((o == "-I" || o == "-isystem") && k + 1 < options.size() && is_toolkit(options[k + 1])) {
      ++k;
      continue;
    }
    if (o.starts_with("-I") && o.size() > 2 && is_toolkit(o.substr(2))) continue;
    kept.push_back(o);
  }
  return kept;
}

}  // namespace klab::cuda_compiler
