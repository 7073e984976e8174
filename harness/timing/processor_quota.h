// How many processors this process may keep busy, where a control group limits their time.
#pragma once

#include <optional>
#include <string>

namespace klab {

/// Returns the processors' time per time that the process's control group and those above it allow: 2.5 for 250 ms in each
/// 100 ms. Empty if nothing limits it. `root` is prepended to /proc and /sys, for tests.
std::optional<double> processor_quota(const std::string& root = "");

/// Returns how many threads to start by default: `processors`, or fewer if a control group allows less. A thread more than
/// the quota makes all of them wait for the rest of each period.
int threads_within_quota(int processors, const std::optional<double>& quota);

}  // namespace klab
