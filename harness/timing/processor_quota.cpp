#include "harness/timing/processor_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace klab {
namespace {

/// Returns quota over period from "max 100000" or "250000 100000".
std::optional<double> share_in(const std::string& text) {
  std::istringstream in(text);
  double quota = 0, period = 0;
  if (!(in >> quota >> period) || !(quota > 0) || !(period > 0)) return std::nullopt;
  return quota / period;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Returns the smaller one; an empty one sets no limit.
std::optional<double> tighter(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// Returns the tightest limit of a group and all above it. `share` reads the limit of one folder.
template <class Share>
std::optional<double> along(const std::string& root, std::string group, Share share) {
  std::optional<double> least;
  for (;;) {
    least = tighter(least, share(root + group));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos || group == "/") break;
    group = group.substr(0, slash);
  }
  return least;
}

}  // namespace

std::optional<double> processor_quota(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::optional<double> least;
  for (std::string line; std::getline(groups, line);) {
    // "0::/a/b" of the second version, "4:cpu,cpuacct:/a/b" of the first.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (names == ",,")
      least = tighter(least, along(root + "/sys/fs/cgroup", group, [](const std::string& folder) {
                        return share_in(text_of(folder + "/cpu.max"));
                      }));
    if (names.find(",cpu,") != std::string::npos)
      least = tighter(least, along(root + "/sys/fs/cgroup/cpu", group, [](const std::string& folder) {
                        return share_in(text_of(folder + "/cpu.cfs_quota_us") + " " +
                                        text_of(folder + "/cpu.cfs_period_us"));
                      }));
  }
  return least;
}

int threads_within_quota(int processors, const std::optional<double>& quota) {
  if (!quota) return processors;
  // A quota of 1.9 keeps two threads busy nearly all the time, one of 1.2 does not.
  return std::clamp(int(std::floor(*quota + 0.25)), 1, processors);
}

}  // namespace klab
