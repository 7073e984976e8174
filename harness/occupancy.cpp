#include "harness/occupancy.h"

#include <cxxabi.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace klab {
namespace {
namespace fs = std::filesystem;

/// "void klab::(anonymous namespace)::f<32>(float const*)" -> "f<32>"
std::string short_name(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  // nvcc names the anonymous namespace after the file.
  for (const char* anonymous : {"(anonymous namespace)::", "_GLOBAL__N__"})
    if (const size_t at = name.find(anonymous); at != std::string::npos)
      name = name.substr(name.find("::", at) + 2);
  int depth = 0;
  size_t end = name.size(), begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (depth != 0) continue;
    if (name[i] == '(') {
      end = i;
      break;
    }
    if (name[i] == ':' || name[i] == ' ') begin = i + 1;
  }
  return name.substr(begin, end - begin);
}

fs::path report_file() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder :
       {program, program.parent_path(), program / "lib", program.parent_path() / "lib"})
    if (fs::exists(folder / "cuda_resources.txt", error)) return folder / "cuda_resources.txt";
  return {};
}

int64_t number_before(const std::string& line, const std::string& words) {
  std::smatch m;
  return std::regex_search(line, m, std::regex("([0-9]+) " + words)) ? std::stoll(m[1]) : 0;
}

}  // namespace

std::vector<KernelResources> parse_resources(const std::string& text, const std::string& file) {
  static const std::regex entry("Compiling entry function '([^']+)' for '([^']+)'");
  std::vector<KernelResources> list;
  std::istringstream in(text);
  std::string variant;
  bool open = false;  // an entry whose registers are still to come
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch m;
    if (line.starts_with("== ")) {
      variant = line.substr(3);
    } else if (std::regex_search(line, m, entry)) {
      if (variant.empty())
        throw std::runtime_error(file + ":" + std::to_string(number) +
                                 ": a kernel before any line \"== <variant>\"");
      list.push_back({.variant = variant, .kernel = short_name(m[1]), .target = m[2]});
      open = true;
    } else if (open && line.find("bytes stack frame") != std::string::npos) {
      list.back().stack = number_before(line, "bytes stack frame");
      list.back().spill_stores = number_before(line, "bytes spill stores");
      list.back().spill_loads = number_before(line, "bytes spill loads");
    } else if (open && line.find(" registers") != std::string::npos) {
      list.back().registers = int(number_before(line, "registers"));
      list.back().shared = number_before(line, "bytes smem");
      if (list.back().registers == 0)
        throw std::runtime_error(file + ":" + std::to_string(number) + ": no number of registers in \"" +
                                 line + "\"");
      open = false;
    }
  }
  return list;
}

const std::vector<KernelResources>& kernel_resources(std::string* why) {
  static std::string reason;
  static const std::vector<KernelResources> list = [] {
    const fs::path file = report_file();
    if (file.empty()) {
      reason =
          "this build has no nvcc's report on registers: build with the preset cuda (CUDA 12.4 or newer), or "
          "name another "
          "nvcc with CUDACXX";
      return std::vector<KernelResources>{};
    }
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return parse_resources(text.str(), file.string());
  }();
  if (why != nullptr) *why = reason;
  return list;
}

}  // namespace klab
