#include "harness/cuda_compiler/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace klab::cuda_compiler {
namespace {

/// Options of nvcc that have no effect here: with a value in the next word, and without.
constexpr std::array kIgnoredWithValue = {"-Xptxas",
                                          "--ptxas-options",
                                          "-Xcudafe",
                                          "--cudafe-options",
                                          "-Xnvlink",
                                          "--nvlink-options",
                                          "-Xarchive",
                                          "-maxrregcount",
                                          "--maxrregcount",
                                          "-ccbin",
                                          "--compiler-bindir",
                                          "-code",
                                          "--gpu-code",
                                          "-diag-suppress",
                                          "--diag-suppress",
                                          "-t",
                                          "--threads",
                                          "-m",
                                          "--machine",
                                          "-default-stream",
                                          "--default-stream",
                                          "--keep-dir",
                                          "-keep-dir",
                                          "-cudart",
                                          "--cudart",
                                          "-cudadevrt",
                                          "-odir",
                                          "--ftemplate-depth",
                                          "-split-compile"};
constexpr std::array kIgnored = {"-G",
                                 "--device-debug",
                                 "-lineinfo",
                                 "--generate-line-info",
                                 "--use_fast_math",
                                 "-use_fast_math",
                                 "--keep",
                                 "-keep",
                                 "-m64",
                                 "--extended-lambda",
                                 "-extended-lambda",
                                 "-expt-extended-lambda",
                                 "--expt-extended-lambda",
                                 "--expt-relaxed-constexpr",
                                 "-expt-relaxed-constexpr",
                                 "-forward-unknown-to-host-compiler",
                                 "--forward-unknown-to-host-compiler",
                                 "-Wno-deprecated-gpu-targets",
                                 "--no-align-double",
                                 "-restrict",
                                 "--restrict",
                                 "-dlto",
                                 "--source-in-ptx",
                                 "-src-in-ptx",
                                 "--resource-usage",
                                 "-res-usage",
                                 "-pg",
                                 "-O",
                                 "-O0",
                                 "-O1",
                                 "-O2",
                                 "-O3",
                                 "-Ofast",
                                 "-Os",
                                 "-g",
                                 "-allow-unsupported-compiler",
                                 "--allow-unsupported-compiler",
                                 "-noeh",
                                 "--display-error-number",
                                 "--no-display-error-number",
                                 "-ewp",
                                 "-extra-device-vectorization",
                                 "-Werror=all-warnings"};
/// Libraries of a real toolkit that every program is linked with. klab's runtime replaces them.
constexpr std::array kOwnLibraries = {"-lcudart", "-lcudart_static", "-lcudadevrt", "-lcuda", "-lnvidia-ml"};
constexpr std::array kDeviceLibraries = {"cublas",   "cublasLt",      "curand",    "cufft",  "cusparse",
                                         "cusolver", "cudnn",         "nvrtc",     "nppc",   "nppif",
                                         "nppial",   "nvjpeg",        "nccl",      "cupti",  "nvToolsExt",
                                         "nvtx3",    "curand_kernel", "nvJitLink", "culibos"};

bool one_of(const auto& list, const std::string& a) { return std::ranges::find(list, a) != list.end(); }

std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// Splits a file of options into words, respecting quotes.
std::vector<std::string> words_of(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::invalid_argument("--options-file " + file + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;
  for (const char c : text.str() + "\n") {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (any) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  return words;
}

class Parser {
 public:
  explicit Parser(std::vector<std::string> arguments) : words_(std::move(arguments)) {}

  Options parse() {
    for (at_ = 0; at_ < words_.size(); ++at_) one(words_[at_]);
    return std::move(o_);
  }

 private:
  const std::string& next(const std::string& option) {
    if (at_ + 1 >= words_.size()) throw std::invalid_argument(option + " needs a value behind it");
    return words_[++at_];
  }

  /// Reads the value of an option, after = or in the next word.
  bool valued(const std::string& a, std::initializer_list<const char*> names, std::string* value) {
    for (const std::string name : names) {
      if (a == name) {
        *value = next(a);
        return true;
      }
      if (a.starts_with(name + "=")) {
        *value = a.substr(name.size() + 1);
        return true;
      }
    }
    return false;
  }

  void one(const std::string& a) {
    std::string value;
    if (a.empty()) return;
    if (a[0] != '-') return file(a);
    if (making(a) || preprocessing(a) || linking(a)) return;
    if (valued(a, {"-x", "--x"}, &value)) {
      language_ = value;
    } else if (valued(a, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}, &value)) {
      architecture(value);
    } else if (valued(a, {"-Xcompiler", "--compiler-options"}, &value)) {
      for (std::string& part : at_commas(value)) o_.host.push_back(std::move(part));
    } else if (valued(a, {"-optf", "--options-file"}, &value)) {
      const auto more = words_of(value);
      words_.insert(words_.begin() + std::ptrdiff_t(at_) + 1, more.begin(), more.end());
    } else if (valued(a, {"-std", "--std"}, &value)) {
      standard(value);
    } else if (one_of(kIgnored, a)) {
    } else if (std::ranges::any_of(kIgnoredWithValue,
                                   [&](const char* n) { return valued(a, {n}, &value); })) {
    } else if (a.starts_with("-O") || a.starts_with("-t") || a.starts_with("-maxrregcount") || a == "-w" ||
               a.starts_with("-W") || a == "-Werror" || a.starts_with("--Werror") ||
               a.starts_with("-pedantic")) {
      if (a == "-Werror") return drop_value("all-warnings");
    } else if (a.starts_with("-f") || a.starts_with("-m") || a == "-pthread") {
      o_.host.push_back(a);
    } else {
      throw std::invalid_argument(
          a + " is not known to klab-nvcc; what is for the host compiler goes behind -Xcompiler");
    }
  }

  /// Sets the language's standard. klab's headers need C++17, so older standards become that.
  void standard(const std::string& name) {
    const size_t at = name.find("++");
    const std::string year = at == std::string::npos ? "" : name.substr(at + 2);
    if (year.empty()) return;  // of C
    o_.standard = year == "20" || year == "2a"                   ? "gnu++20"
                  : year == "23" || year == "2b" || year == "26" ? "gnu++2b"
                                                                 : "gnu++17";
  }

  void drop_value(const std::string& value) {
    if (at_ + 1 < words_.size() && words_[at_ + 1] == value) ++at_;
  }

  bool making(const std::string& a) {
    std::string value;
    if (valued(a, {"-rdc", "--relocatable-device-code"}, &value)) {
      if (value != "true" && value != "false") throw std::invalid_argument(a + ": neither true nor false");
      o_.relocatable = value == "true";
      return true;
    }
    if (valued(a, {"--klab-compile-commands"}, &o_.compile_commands)) return true;
    if (a == "-c" || a == "--compile" || a == "-dc" || a == "--device-c" || a == "-dw" || a == "--device-w") {
      o_.stop = Options::Stop::object;
      if (a == "-dc" || a == "--device-c") o_.relocatable = true;
      if (a == "-dw" || a == "--device-w") o_.relocatable = false;
    } else if (a == "-E" || a == "--preprocess")
      o_.stop = Options::Stop::preprocessed;
    else if (a == "-o" || a == "--output-file")
      o_.output = next(a);
    else if (a == "-shared" || a == "--shared")
      o_.shared = true;
    else if (a == "-lib" || a == "--lib")
      o_.archive = true;
    else if (a == "-dlink" || a == "--device-link")
      o_.device_link = true;
    else if (a == "-v" || a == "--verbose")
      o_.verbose = true;
    else if (a == "-dryrun" || a == "--dryrun")
      o_.verbose = o_.dry = true;
    else if (a == "--version" || a == "-V")
      o_.version = true;
    else if (a == "--help" || a == "-h")
      o_.help = true;
    else if (a == "--man")
      o_.manual = true;
    else if (a == "--klab-plain")
      o_.plain = true;
    else if (a == "-ptx" || a == "--ptx" || a == "-cubin" || a == "--cubin" || a == "-fatbin" ||
             a == "--fatbin")
      throw std::invalid_argument(a + ": klab makes no code for GPUs; that needs NVIDIA's nvcc");
    else
      return false;
    return true;
  }

  bool preprocessing(const std::string& a) {
    std::string value;
    if (valued(a, {"--include-path", "--system-include"}, &value) || valued(a, {"-isystem"}, &value)) {
      o_.preprocess.push_back("-I" + value);
    } else if (valued(a, {"--define-macro"}, &value)) {
      o_.preprocess.push_back("-D" + value);
    } else if (valued(a, {"--undefine-macro"}, &value)) {
      o_.preprocess.push_back("-U" + value);
    } else if (valued(a, {"-include", "--pre-include"}, &value)) {
      o_.preprocess.insert(o_.preprocess.end(), {"-include", value});
    } else if (a.starts_with("-I") || a.starts_with("-D") || a.starts_with("-U")) {
      o_.preprocess.push_back(a.size() > 2 ? a : a + next(a));
    } else if (a == "-MD" || a == "-MMD" || a == "-M" || a == "-MM" || a == "-MP") {
      o_.depends.push_back(a);
    } else if (a == "-MF" || a == "-MT" || a == "-MQ") {
      o_.depends.insert(o_.depends.end(), {a, next(a)});
    } else {
      return false;
    }
    return true;
  }

  bool linking(const std::string& a) {
    std::string value;
    if (valued(a, {"-Xlinker", "--linker-options"}, &value)) {
      for (const std::string& part : at_commas(value)) o_.link.push_back("-Wl," + part);
    } else if (a.starts_with("-Wl,")) {
      o_.link.push_back(a);
    } else if (a == "-L" || a == "-l") {
      library(a + next(a));
    } else if (a.starts_with("-L") || a.starts_with("-l")) {
      if (a.starts_with("-lineinfo") || a.starts_with("-lib")) return false;
      library(a);
    } else if (a == "-rdynamic") {
      o_.link.push_back(a);
    } else {
      return false;
    }
    return true;
  }

  void library(const std::string& a) {
    if (one_of(kOwnLibraries, a)) return;
    // A program that calls one of them ends with a sentence there (klab_cuda/libraries.h).
    for (const std::string name : kDeviceLibraries)
      if (a == "-l" + name || a == "-l" + name + "_static") return;
    o_.link.push_back(a);
  }

  void file(const std::string& a) {
    const std::string end = std::filesystem::path(a).extension();
    const bool object = end == ".o" || end == ".obj" || end == ".a" || end.starts_with(".so") ||
                        a.find(".so.") != std::string::npos;
    if (object) {
      o_.link.push_back(a);
      return;
    }
    if (end == ".ptx" || end == ".cubin" || end == ".fatbin" || end == ".ltoir")
      throw std::invalid_argument(a + ": code for GPUs cannot run on the host; its source is needed");
    o_.inputs.push_back({a, language_.empty() ? end == ".cu" : language_ == "cu"});
  }

  /// Reads the newest architecture named in "sm_90a", "compute_70", "arch=compute_80,code=[sm_80]", "80" or
  /// "native".
  void architecture(const std::string& text) {
    for (size_t k = 0; k < text.size();) {
      if (text[k] < '0' || text[k] > '9') {
        ++k;
        continue;
      }
      int number = 0;
      while (k < text.size() && text[k] >= '0' && text[k] <= '9') number = number * 10 + (text[k++] - '0');
      if (number < 20 || number > 200 || number * 10 < named_) continue;
      const bool all = k < text.size() && text[k] == 'a';
      all_ = all || (all_ && number * 10 == named_);
      named_ = number * 10;
    }
    if (named_ == 0) return;
    o_.architecture = named_;
    o_.all_features = all_;
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
  Options o_;
  std::string language_;
  int named_ = 0;
  bool all_ = false;
};

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) { return Parser(arguments).parse(); }

std::vector<std::string> ignored_options() {
  std::vector<std::string> all(kIgnored.begin(), kIgnored.end());
  for (const std::string option : kIgnoredWithValue) all.push_back(option + " X");
  all.insert(all.end(), {"-O*", "-W*", "-Werror X", "--Werror*", "-w", "-pedantic*"});
  return all;
}

}  // namespace klab::cuda_compiler
