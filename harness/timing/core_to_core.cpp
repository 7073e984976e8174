#include "harness/timing/core_to_core.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

namespace klab {
namespace {

using Ticks = std::chrono::steady_clock;

/// A line that two threads pass on: odd numbers on the way out, even ones on the way back.
class Ball {
 public:
  /// Waits for that number. False when it takes so long that the other thread cannot be running.
  bool wait_for(int number) {
    constexpr int kSpins = 256;  // between two readings of the clock
    const auto patience = Ticks::now() + std::chrono::milliseconds(2);
    while (true) {
      for (int k = 0; k < kSpins; ++k)
        if (number_.load(std::memory_order_acquire) == number) return true;
      if (dropped_.load(std::memory_order_relaxed) || Ticks::now() > patience) {
        dropped_ = true;
        return false;
      }
    }
  }
  void pass(int number) { number_.store(number, std::memory_order_release); }
  bool dropped() const { return dropped_; }

 private:
  alignas(128) std::atomic<int> number_{0};  // 128: some processors fetch lines in pairs
  alignas(128) std::atomic<bool> dropped_{false};
};

constexpr int kTrips = 25, kTimes = 8;

/// Median over several times of the nanoseconds a trip; 0 when the ball was dropped.
double throw_ball(Ball& ball) {
  std::array<double, kTimes> ns{};
  int number = 0;
  for (double& time : ns) {
    const auto begin = Ticks::now();
    for (int k = 0; k < kTrips; ++k) {
      ball.pass(++number);
      if (!ball.wait_for(++number)) return 0;
    }
    time = std::chrono::duration<double, std::nano>(Ticks::now() - begin).count() / kTrips;
  }
  std::nth_element(ns.begin(), ns.begin() + kTimes / 2, ns.end());
  return ns[kTimes / 2];
}

void throw_back(Ball& ball) {
  for (int number = 1; number < 2 * kTrips * kTimes; number += 2) {
    if (!ball.wait_for(number)) return;
    ball.pass(number + 1);
  }
}

}  // namespace

double measure_core_to_core_ns() {
  constexpr int kAttempts = 3;  // what holds a thread up is mostly short: a program that just ended
  const auto threads = size_t(omp_get_max_threads());
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<Ball> balls(threads);  // one for each thread that throws back
    double farthest = 0;
#pragma omp parallel
    for (int other = 1; other < omp_get_num_threads(); ++other) {
      const int thread = omp_get_thread_num();
#pragma omp barrier
      if (thread == other) throw_back(balls[size_t(other)]);
      if (thread == 0) farthest = std::max(farthest, throw_ball(balls[size_t(other)]));
    }
    if (std::none_of(balls.begin(), balls.end(), [](const Ball& b) { return b.dropped(); })) return farthest;
  }
  return 0;
}

std::string moved_text(std::span<const double> core_to_core_ns) {
  constexpr double kMore = 1.7;  // the same distance scatters by less
  double nearest = 0, farthest = 0;
  for (const double ns : core_to_core_ns) {
    if (!(ns > 0)) continue;
    nearest = nearest > 0 ? std::min(nearest, ns) : ns;
    farthest = std::max(farthest, ns);
  }
  if (nearest > kSharedCacheNs || farthest < std::max(kSharedCacheNs, kMore * nearest)) return "";
  return fmt::format(
      "The threads were moved meanwhile, together and apart: a cache line took {:.0f} to {:.0f} ns to "
      "another and back.",
      nearest, farthest);
}

}  // namespace klab
