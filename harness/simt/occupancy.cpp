#include "harness/simt/occupancy.h"

#include <cxxabi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "harness/simt/gpus.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

/// Shortens "void klab::(anonymous namespace)::f<32>(float const*)" to "f<32>".
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
  bool open = false;  // an entry whose registers have not been read yet
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

const KernelResources* resources_of(const std::string& variant, const std::string& kernel,
                                    const std::vector<KernelResources>& report) {
  const auto plain = [](const std::string& name) { return name.substr(0, name.find('<')); };
  const KernelResources* alike = nullptr;
  for (const KernelResources& r : report) {
    if (r.variant != variant) continue;
    if (r.kernel == kernel) return &r;
    if (alike == nullptr && plain(r.kernel) == plain(kernel)) alike = &r;
  }
  return alike;
}

std::map<std::string, int64_t> needs_of(const std::string& variant,
                                        std::span<const simt::LaunchRecord> launches,
                                        const std::vector<KernelResources>& report) {
  std::map<std::string, int64_t> needs;
  const auto at_least = [&](const std::string& name, int64_t value) {
    needs[name] = std::max(needs[name], value);
  };
  for (const KernelResources& r : report) {
    if (r.variant != variant) continue;
    at_least("registers", r.registers);
    at_least("spilled_bytes", r.spill_stores + r.spill_loads);
    at_least("shared_bytes", r.shared);
  }
  for (const simt::LaunchRecord& l : launches) {
    const auto shared = int64_t(l.static_shared + l.dynamic_shared);
    at_least("shared_bytes", shared);
    const KernelResources* r = resources_of(variant, l.kernel, report);
    if (r == nullptr) continue;
    for (const simt::GpuModel& g : simt::gpus()) {
      const auto o = simt::occupancy(g, l.block[0] * l.block[1] * l.block[2], r->registers, size_t(shared));
      const auto percent = int64_t(std::lround(100 * o.fraction));
      const auto [at, fresh] = needs.emplace(std::string(kOccupancyOf) + g.short_name, percent);
      if (!fresh) at->second = std::min(at->second, percent);
    }
  }
  return needs;
}

}  // namespace klab
