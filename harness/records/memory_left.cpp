#include "harness/records/memory_left.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace klab {
namespace {

constexpr int64_t kUnknownMemory = std::numeric_limits<int64_t>::max();

int64_t kilobytes_in(const char* file, const std::string& wanted) {
  std::ifstream in(file);
  for (std::string key; in >> key;) {
    int64_t kilobytes = 0;
    if (key == wanted && in >> kilobytes) return kilobytes * 1024;
  }
  return kUnknownMemory;
}

int64_t known_or_none(int64_t bytes) { return bytes == kUnknownMemory ? 0 : bytes; }

/// Reads the only number in a file; "max" means no limit.
int64_t number_in_file(const std::string& file) {
  std::ifstream in(file);
  int64_t value = 0;
  return in >> value ? value : kUnknownMemory;
}

/// Returns the memory left by the process's control group and its ancestors. Cached file pages do not count
/// as used.
int64_t left_by_groups() {
  std::ifstream in("/proc/self/cgroup");
  int64_t left = kUnknownMemory;
  for (std::string line; std::getline(in, line);) {
    const bool second = line.starts_with("0::");  // version 2
    const bool first = line.find(":memory:") != std::string::npos;
    if (!second && !first) continue;
    const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    std::string group = line.substr(line.rfind(':') + 1);
    while (true) {
      const std::string folder = root + (group == "/" ? "" : group);
      const int64_t most = number_in_file(folder + (second ? "/memory.max" : "/memory.limit_in_bytes"));
      const int64_t used = number_in_file(folder + (second ? "/memory.current" : "/memory.usage_in_bytes"));
      if (most < kUnknownMemory && used < kUnknownMemory) {
        std::ifstream stat(folder + "/memory.stat");
        int64_t kept = 0, bytes = 0;
        for (std::string key; stat >> key >> bytes;)
          if (key == "inactive_file" || key == "active_file") kept += bytes;
        left = std::min(left, std::max<int64_t>(0, most - used + kept));
      }
      if (group.size() <= 1) break;
      group = group.substr(0, std::max<size_t>(1, group.rfind('/')));
    }
  }
  return left;
}

int64_t left_by_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknownMemory;
  const int64_t used = kilobytes_in("/proc/self/status", "VmSize:");
  return used == kUnknownMemory ? used : std::max<int64_t>(0, int64_t(limit.rlim_cur) - used);
}

}  // namespace

int64_t available_memory() {
  return known_or_none(
      std::min({kilobytes_in("/proc/meminfo", "MemAvailable:"), left_by_groups(), left_by_limit()}));
}

int64_t resident_memory() { return known_or_none(kilobytes_in("/proc/self/status", "VmRSS:")); }
int64_t peak_memory() { return known_or_none(kilobytes_in("/proc/self/status", "VmHWM:")); }

void require_memory(int64_t bytes, const std::string& what, const std::string& remedy) {
  const int64_t available = available_memory();
  if (available > 0 && bytes > available)
    throw std::runtime_error(fmt::format("{} needs about {:.1f} GB of memory and {:.1f} GB are available: {}",
                                         what, double(bytes) * 1e-9, double(available) * 1e-9, remedy));
}

}  // namespace klab
