// Makes sure that the clock which times kernels is the system's: a kernel file is linked into the program, and a function of
// its own called clock_gettime() would be the one that everything else calls.
#pragma once

#include <cstdint>
#include <string>

namespace klab {

/// Returns the first function of time that is not the system's, "clock_gettime of /path/to/program"; empty where all are.
std::string replaced_clock();

/// Watches from its construction on that the clock of the program advances as the kernel of the system says.
class ClockGuard {
 public:
  ClockGuard();
  /// Throws std::runtime_error if the clock is not the system's, or has not run alike since.
  void verify() const;

 private:
  int64_t program_, system_;  // nanoseconds
};

/// Returns whether two durations in nanoseconds are of clocks that run alike.
bool run_alike(int64_t program, int64_t system);

}  // namespace klab
