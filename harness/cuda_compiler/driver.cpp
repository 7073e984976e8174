#include "harness/cuda_compiler/driver.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "harness/cuda_compiler/compile_commands.h"
#include "harness/cuda_compiler/libraries.h"
#include "harness/cuda_compiler/manual.h"
#include "harness/cuda_compiler/options.h"
#include "harness/cuda_compiler/rewrite.h"

namespace klab::cuda_compiler {
namespace {
namespace fs = std::filesystem;

using Words = std::vector<std::string>;

class Scratch {
 public:
  Scratch() {
    std::string form = (fs::temp_directory_path() / "klab_nvcc_XXXXXX").string();
    if (mkdtemp(form.data()) == nullptr) throw std::runtime_error(form + ": " + std::strerror(errno));
    path_ = form;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path file(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Runs a program to its end. If `words` is set, standard error goes to that file.
int run(const Words& command, const fs::path& words = {}) {
  std::vector<char*> argv;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (!words.empty())
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, words.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error(command[0] + ": " + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// Contents of the toolkit's flags.txt.
struct Flags {
  std::string compiler = "g++";
  Words traced, plain;
};
Flags read_flags(const fs::path& toolkit_folder) {
  std::ifstream in(toolkit_folder / "flags.txt");
  if (!in)
    throw std::runtime_error(
        (toolkit_folder / "flags.txt").string() +
        ": not found, so klab does not know how to compile: build or install klab again");
  Flags flags;
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "compiler") flags.compiler = value;
    if (key == "traced") flags.traced.push_back(value);
    if (key == "plain") flags.plain.push_back(value);
  }
  return flags;
}

std::string klab_include;  // files in it are not rewritten
bool has_device_library;   // the program includes CUB

bool is_foreign(const std::string& file) {
  if (has_device_library && is_device_library(file)) return false;
  return file.starts_with("/usr/") || file.starts_with("<") ||
         file.find("/klab_cuda/") != std::string::npos || is_header_library(file) ||
         file.find("harness/simt/") != std::string::npos ||
         (!klab_include.empty() && file.starts_with(klab_include));
}

class Build {
 public:
  Build(Options options, fs::path toolkit_folder, Words arguments)
      : o_(std::move(options)),
        top_(std::move(toolkit_folder)),
        arguments_(std::move(arguments)),
        flags_(read_flags(top_)) {
    klab_include = (top_ / "include").string() + "/";
  }

  int run_all(int* kernels) {
    if (o_.device_link) return make_empty();
    if (o_.inputs.empty() && o_.link.empty())
      throw std::invalid_argument("no input file: klab-nvcc PROGRAM.cu -o PROGRAM");
    if (o_.stop != Options::Stop::link && o_.inputs.size() > 1 && !o_.output.empty())
      throw std::invalid_argument("-o names one file, but " + std::to_string(o_.inputs.size()) +
                                  " are to be compiled");
    Words objects;
    for (const Input& input : o_.inputs) {
      const fs::path object = object_of(input);
      if (!o_.compile_commands.empty() && !o_.dry) note_command(input, object);
      if (const int code = compile_one(input, object); code != 0) return code;
      objects.push_back(object.string());
    }
    *kernels = kernels_;
    if (o_.stop != Options::Stop::link) return 0;
    return o_.archive ? archive(objects) : link(objects);
  }

 private:
  fs::path object_of(const Input& input) const {
    if (o_.stop == Options::Stop::link)
      return scratch_.file(std::to_string(&input - o_.inputs.data()) + "_" +
                           fs::path(input.file).stem().string() + ".o");
    if (!o_.output.empty()) return o_.output;
    if (o_.stop == Options::Stop::preprocessed) return "/dev/stdout";
    return fs::path(input.file).stem().string() + ".o";
  }

  int say_and_run(const Words& command, const fs::path& words = {}) {
    if (o_.verbose) {
      std::string line = "#$ ";
      for (const std::string& w : command) line += w + " ";
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    return o_.dry ? 0 : run(command, words);
  }

  static void add(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }

  Words base(bool cuda) const {
    Words c = {flags_.compiler};
    if (cuda || !o_.plain) {
      // Host C++ files get -fsanitize=thread as well, so that their accesses to device memory are seen.
      add(c, o_.plain ? flags_.plain : flags_.traced);
    }
    // -g2: layouts of structures tell padding from members (harness/simt/layouts.h).
    add(c, {"-std=" + o_.standard, "-w", "-Wno-psabi", "-g2", "-fno-var-tracking", "-U_FORTIFY_SOURCE"});
    for (const std::string& h : o_.host)
      if (!h.starts_with("-std=") && !h.starts_with("-O") && !h.starts_with("-W")) c.push_back(h);
    return c;
  }

  /// Records the command of one file: the one that was given, without the other files.
  void note_command(const Input& input, const fs::path& object) const {
    Words command = {(top_ / "bin/klab-nvcc").string()};
    for (size_t k = 0; k < arguments_.size(); ++k) {
      const bool another = arguments_[k] != input.file && std::ranges::any_of(o_.inputs, [&](const Input& i) {
                             return i.file == arguments_[k];
                           });
      if (arguments_[k] == "--klab-compile-commands")
        ++k;
      else if (!another && !arguments_[k].starts_with("--klab-compile-commands="))
        command.push_back(arguments_[k]);
    }
    const std::string output =
        o_.stop == Options::Stop::link ? (o_.output.empty() ? "a.out" : o_.output) : object.string();
    record_command(o_.compile_commands, command, input.file, output);
  }

  int compile_one(const Input& input, const fs::path& object) {
    if (!fs::exists(input.file)) throw std::invalid_argument(input.file + ": there is no such file");
    const std::string end = fs::path(input.file).extension();
    if (!input.cuda) {
      Words c = base(false);
      if (end == ".c") c = {"gcc", "-O1", "-g1", "-w"};
      add(c, {"-I" + (top_ / "include").string()});
      add(c, o_.preprocess);
      add(c, o_.depends);
      add(c, {o_.stop == Options::Stop::preprocessed ? "-E" : "-c", input.file, "-o", object.string()});
      return say_and_run(c);
    }
    const fs::path preprocessed = scratch_.file("in.ii"), rewritten = scratch_.file("out.ii"),
                   words = scratch_.file("words");
    Words p = base(true);
    const std::string architecture = std::to_string(o_.architecture);
    add(p, {"-E", "-x", "c++", "-D__CUDACC__=1", "-D__NVCC__=1", "-D__CUDA__=1", "-D__CUDACC_VER_MAJOR__=12",
            "-D__CUDACC_VER_MINOR__=4", "-D__CUDACC_VER_BUILD__=131", "-D__CUDA_ARCH__=" + architecture,
            "-D__CUDA_ARCH_LIST__=" + architecture, "-DKLAB_SIMT=1"});
    if (o_.all_features && o_.architecture == 900) p.emplace_back("-D__CUDA_ARCH_FEAT_SM90_ALL=1");
    if (!o_.plain) p.emplace_back("-DKLAB_SIMT_TRACED=1");
    add(p, without_toolkits(o_.preprocess));
    add(p, {"-isystem", (top_ / "include").string(), "-include", "klab_cuda/begin.h"});
    Words depends = o_.depends;
    if (!depends.empty() && !object.empty() &&
        std::ranges::none_of(depends, [](const std::string& d) { return d == "-MT" || d == "-MQ"; }))
      add(depends, {"-MT", object.string()});
    add(p, depends);
    add(p, {input.file, "-o", preprocessed.string()});
    int code = say_and_run(p, words);
    if (!o_.dry) {
      // If a template library's headers are missing, try again with the folder of the installed toolkit.
      if (code != 0 && misses_header_library(whole(words)))
        if (const Words more =
                header_library_options(o_.preprocess, scratch_.file("libraries"), top_ / "include");
            !more.empty()) {
          p.insert(p.begin() + 1, more.begin(), more.end());
          code = say_and_run(p, words);
        }
      const std::string said = whole(words);
      if (!said.empty()) std::fprintf(stderr, "%s", about_headers(said).c_str());
    }
    if (code != 0) return 2;
    bool aligned_types = false;
    if (!o_.dry) {
      const std::string text = whole(preprocessed);
      has_device_library = text.find("/cub/") != std::string::npos;
      if (const std::string library = library_in(text, is_foreign, klab_include); !library.empty()) {
        std::fprintf(stderr, "%s", library.c_str());
        return 2;
      }
      const Rewritten r = rewrite(text, is_foreign, {.relocatable = o_.relocatable});
      kernels_ += r.kernels;
      aligned_types = r.aligned_types;
      for (const std::string& w : r.warnings) std::fprintf(stderr, "%s\n", w.c_str());
      std::ofstream(o_.stop == Options::Stop::preprocessed ? object : rewritten, std::ios::binary) << r.text;
    }
    if (o_.stop == Options::Stop::preprocessed) return 0;
    Words c = base(true);
    // CUB gives members the names of their types, which nvcc accepts.
    if (has_device_library) c.emplace_back("-fpermissive");
    // A copy of such a structure is one access on a GPU; here the compiler makes accesses of its members.
    if (aligned_types && !o_.plain) c.emplace_back("-fsanitize=alignment");
    add(c, {"-fpreprocessed", "-x", "c++", "-c", rewritten.string(), "-o", object.string()});
    int compiled = say_and_run(c, words);
    if (o_.dry) return 0;
    // A statement was taken for the declaration of a variable, or the variable cannot be filled.
    const auto says = [&](const char* name) { return whole(words).find(name) != std::string::npos; };
    if (compiled != 0 && (says("::unset") || says("used("))) {
      std::ofstream(rewritten, std::ios::binary)
          << rewrite(whole(preprocessed), is_foreign, {.unset = false, .relocatable = o_.relocatable}).text;
      compiled = say_and_run(c, words);
    }
    if (compiled != 0 && whole(words).find("inlining failed in call to") != std::string::npos) {
      std::string text = whole(rewritten);
      const std::string always = kAlwaysInline;
      for (size_t at = text.find(always); at != std::string::npos; at = text.find(always, at))
        text.replace(at, always.size(), "");
      std::ofstream(rewritten, std::ios::binary) << text;
      compiled = say_and_run(c, words);
    }
    const std::string said = whole(words);
    if (!said.empty()) std::fprintf(stderr, "%s", about_compiling(said).c_str());
    return compiled == 0 ? 0 : 2;
  }

  /// Returns the compiler's messages for the user.
  static std::string about_compiling(const std::string& said) { return said; }

  int link(const Words& objects) {
    Words c = {flags_.compiler, "-o", o_.output.empty() ? "a.out" : o_.output};
    if (o_.shared) c.emplace_back("-shared");
    for (const std::string& h : o_.host)
      if (h == "-fopenmp" || h == "-pthread" || h == "-static-libstdc++") c.push_back(h);
    add(c, objects);
    add(c, o_.link);
    add(c, {"-L" + (top_ / "lib64").string(), (top_ / "lib64/libklab_anchor.a").string(),
            (top_ / "lib64/libklab_cuda.so").string()});
    // Build systems (CMake, for example) read these lines to learn how to link. They must find this program and
    // these libraries.
    if (o_.verbose) {
      std::fprintf(stderr, "ld -o %s -L%s/lib64 -lcudadevrt -lcudart\n", c[2].c_str(), top_.c_str());
      std::fprintf(stderr, "#$ %s/bin/klab-nvcc -o %s -L%s/lib64 -lcudadevrt -lcudart\n", top_.c_str(),
                   c[2].c_str(), top_.c_str());
    }
    return o_.dry || run(c) == 0 ? 0 : 2;
  }

  int archive(const Words& objects) {
    if (o_.output.empty()) throw std::invalid_argument("-lib needs -o FILE.a");
    Words c = {"ar", "rcs", o_.output};
    add(c, objects);
    for (const std::string& l : o_.link)
      if (l.ends_with(".o")) c.push_back(l);
    return say_and_run(c) == 0 ? 0 : 2;
  }

  /// Writes an empty object. The program's link joins device code here, but build systems expect the file.
  int make_empty() {
    for (const std::string& l : o_.link)
      if ((l.ends_with(".o") || l.ends_with(".a")) && !fs::exists(l))
        throw std::invalid_argument(l + ": there is no such file");
    const std::string out = o_.output.empty() ? "a_dlink.o" : o_.output;
    return say_and_run({flags_.compiler, "-fPIC", "-x", "c++", "-c", "/dev/null", "-o", out}) == 0 ? 0 : 2;
  }

  Options o_;
  fs::path top_;
  Words arguments_;
  Flags flags_;
  Scratch scratch_;
  int kernels_ = 0;
};

/// Prints the lines of nvcc's output that build systems look for.
void answer_version() {
  std::printf(
      "klab-nvcc compiles CUDA programs for the host. It takes the command line of\n"
      "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n");
}

void answer_verbose(const fs::path& top) {
  const std::string t = top.string();
  std::fprintf(stderr,
               "#$ _SPACE_= \n#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n#$ PATH=%s/bin:%s\n"
               "#$ INCLUDES=\"-I%s/include\"  \n#$ LIBRARIES=  -L%s/lib64\n#$ klab -arch compute_90\n",
               t.c_str(), t.c_str(), t.c_str(), std::getenv("PATH") ? std::getenv("PATH") : "/usr/bin",
               t.c_str(), t.c_str());
}

}  // namespace

fs::path toolkit() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (const char* named = std::getenv("KLAB_CUDA"); named != nullptr && *named != '\0') return named;
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    for (const fs::path& at : {folder, folder / "cuda", folder / "lib/klab/cuda"})
      if (fs::exists(at / "flags.txt", error) && fs::exists(at / "include/klab_cuda", error)) return at;
  return {};
}

Compilation compile(const std::vector<std::string>& arguments, const fs::path& top) {
  Compilation result;
  try {
    // CMake's query for the location of the toolkit.
    if (std::ranges::find(arguments, "__cmake_determine_cuda") != arguments.end()) {
      answer_verbose(top);
      result.code = 1;
      return result;
    }
    Options options = parse_options(arguments);
    if (options.help || options.manual) {
      std::fputs((options.help ? help_text() : manual_page()).c_str(), stdout);
      return result;
    }
    if (const char* named = std::getenv("KLAB_COMPILE_COMMANDS");
        named != nullptr && options.compile_commands.empty())
      options.compile_commands = named;
    if (options.version) {
      answer_version();
      return result;
    }
    if (options.verbose) answer_verbose(top);
    result.code = Build(std::move(options), top, arguments).run_all(&result.kernels);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "klab-nvcc: %s\n", e.what());
    result.code = 2;
  }
  return result;
}

}  // namespace klab::cuda_compiler
