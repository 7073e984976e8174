// How busy other programs and other guests of the host keep this machine while something is measured.
#pragma once

#include <chrono>

namespace klab {

/// Watches, from its construction on, what keeps hardware threads busy besides this process: other programs, and other
/// guests of the host.
class OthersWork {
 public:
  OthersWork();
  /// Returns the threads that were busy on average until now; 0 where the system does not tell.
  double threads() const;

 private:
  double all_, own_;  // seconds of processors
  std::chrono::steady_clock::time_point begin_;
};

/// Returns how many hardware threads other work keeps busy, watched for that long while this process sleeps: a measurement
/// at the same time is worth little. 0 where the system does not tell.
double busy_elsewhere(double seconds = 0.1);

}  // namespace klab
