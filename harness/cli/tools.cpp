#include "harness/cli/tools.h"

#include <fmt/core.h>
#include <hwy/highway.h>

#include <CLI/Version.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "harness/core/build_info.h"

namespace klab {
namespace {

bool is_program(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::is_regular_file(status) &&
         (status.permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
}

std::string on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream in(path == nullptr ? "" : path);
  for (std::string folder; std::getline(in, folder, ':');)
    if (is_program(folder + "/" + program)) return folder + "/" + program;
  return "";
}

/// Returns the first version number in the text.
std::string version_in(const std::string& text) {
  static const std::regex number(R"([0-9]+(\.[0-9]+)+)");
  std::smatch m;
  return std::regex_search(text, m, number) ? m[0].str() : "";
}

std::string shell_quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

Tool program(const std::string& name, const std::string& file, const std::string& package,
             const std::string& purpose, bool required, const std::string& arguments = "--version") {
  Tool t{name, "", on_path(file), package, purpose, required};
  if (t.where.empty()) return t;
  t.version = version_in(first_line_of(shell_quoted(t.where) + " " + arguments + " 2>/dev/null"));
  if (t.version.empty()) t.version = "of unknown version";
  return t;
}

Tool find_nvcc() {
  // No Debian package: theirs is too old for C++20.
  Tool t{"nvcc", "", "", "", "CUDA 12.4 or newer, from NVIDIA: without it nothing is compiled for a GPU",
         false};
  const char* named = std::getenv("CUDACXX");
  for (const std::string& at :
       {std::string(named == nullptr ? "" : named), on_path("nvcc"), std::string("/usr/local/cuda/bin/nvcc")})
    if (t.where.empty() && is_program(at)) t.where = at;
  if (t.where.empty()) return t;
  t.version = version_in(first_line_of(shell_quoted(t.where) + " --version 2>/dev/null | grep release"));
  if (t.version.empty()) t.version = "of unknown version";
  t.purpose = "compiles CUDA variants for a GPU";
  return t;
}

/// Returns the version of an installed Debian package; "" if it is not installed or there is no dpkg.
std::string package_version(const std::string& package) {
  const std::string line = first_line_of("dpkg-query -W -f='${db:Status-Status} ${Version}\\n' " +
                                         shell_quoted(package) + " 2>/dev/null");
  return line.starts_with("installed ") ? version_in(line) : "";
}

std::string none_is_empty(const std::string& version) { return version == "none" ? "" : version; }

}  // namespace

std::string first_line_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  pclose(pipe);
  return text.substr(0, text.find('\n'));
}

std::vector<Tool> find_programs() {
  return {
      program("g++", "g++", "g++", "compiles klab", true),
      program("clang++", "clang++", "clang", "may compile klab instead (CXX=clang++)", false),
      program("cmake", "cmake", "cmake", "configures the build", true),
      program("ninja", "ninja", "ninja-build", "builds", true),
      find_nvcc(),
      program("compute-sanitizer", "compute-sanitizer", "",
              "CUDA toolkit: reports/record.sh looks for errors on a GPU with it", false),
      program("ncu", "ncu", "", "Nsight Compute: reports/record.sh takes a GPU's own counters with it",
              false),
      program("git", "git", "git", "rows say which commit they were measured at", false),
      program("gnuplot", "gnuplot", "gnuplot-nox", "plots of the report", false),
      program("clang-format", "clang-format", "clang-format", "for developers: klab format", false),
      program("clang-tidy-16", "clang-tidy-16", "clang-tidy-16", "for developers: klab tidy", false),
  };
}

std::vector<Tool> find_libraries() {
  const BuildInfo& build = build_info();
  const auto compiled_or_package = [](const std::string& package) {
    const std::string version = package_version(package);
    return version.empty() ? std::string("built in") : version;
  };
  return {
      {"Highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH), "", "libhwy-dev", "vectors",
       true},
      {"OpenMP", fmt::format("{}", _OPENMP), "", "g++", "threads", true},
      {"Google Benchmark", build.benchmark, "", "libbenchmark-dev", "the timing loop", true},
      {"GoogleTest", package_version("libgtest-dev"), "", "libgtest-dev", "klab test", true},
      {"CLI11", CLI11_VERSION, "", "libcli11-dev", "the command line", true},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100), "",
       "libfmt-dev", "text", true},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                   NLOHMANN_JSON_VERSION_PATCH),
       "", "nlohmann-json3-dev", "JSON", true},
      {"fast-cpp-csv-parser", compiled_or_package("libfccp-dev"), "", "libfccp-dev", "reads rows", true},
      {"md4c", compiled_or_package("libmd4c-dev"), "", "libmd4c-dev", "reads lessons", true},
      {"libpng", compiled_or_package("libpng-dev"), "", "libpng-dev", "images", true},
      {"libjpeg", compiled_or_package("libjpeg-dev"), "", "libjpeg-dev", "images", true},
      {"cpp-httplib", package_version("libcpp-httplib-dev"), "", "libcpp-httplib-dev",
       "the page of klab view", false},
      {"libwebp", package_version("libwebp-dev"), "", "libwebp-dev", "Gaussians as SOG", false},
      {"libzstd", package_version("libzstd-dev"), "", "libzstd-dev", "Gaussians as SPZ 4", false},
      {"oneDNN", none_is_empty(build.onednn), "", "libdnnl-dev", "a peer to race", false},
      {"OpenBLAS", none_is_empty(build.openblas), "", "libopenblas-dev", "a peer to race", false},
  };
}

Load measure_load() {
  const auto read = [](std::array<double, 8>& t) {
    std::ifstream in("/proc/stat");
    std::string cpu;
    in >> cpu;
    for (double& v : t) in >> v;  // user nice system idle iowait irq softirq steal
    return bool(in);
  };
  std::array<double, 8> before{}, after{};
  if (!read(before)) return {};
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  if (!read(after)) return {};
  double total = 0;
  for (size_t i = 0; i < after.size(); ++i) total += after[i] - before[i];
  if (!(total > 0)) return {};
  const double idle = after[3] - before[3] + after[4] - before[4];
  const double stolen = after[7] - before[7];
  return {(total - idle - stolen) / total, stolen / total};
}

}  // namespace klab
