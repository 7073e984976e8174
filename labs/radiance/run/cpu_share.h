// Measures how busy a process keeps the processor.
#pragma once

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace klab {

class CpuShare {
 public:
  /// Returns the processor time of this process since the last call, or since construction, divided by the
  /// elapsed time and OpenMP's number of threads; in [0,1].
  double share() {
    const auto now = Clock::now();
    const std::clock_t cpu = std::clock();
    const double passed = std::chrono::duration<double>(now - last_).count() * omp_get_max_threads();
    const double used = double(cpu - last_cpu_) / CLOCKS_PER_SEC;
    last_ = now;
    last_cpu_ = cpu;
    return passed > 0 ? std::clamp(used / passed, 0.0, 1.0) : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  std::clock_t last_cpu_ = std::clock();
};

}  // namespace klab
