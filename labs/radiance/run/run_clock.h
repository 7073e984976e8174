// The clock of a run: seconds of training, without what is done in between.
#pragma once

#include <chrono>

namespace klab {

class RunClock {
 public:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// Starts after `before` seconds of training by earlier processes.
  void start(double before) {
    before_ = before;
    begin_ = Clock::now();
  }
  /// Keeps the time of all training so far.
  void stop() { seconds_ = elapsed(); }
  /// Takes seconds out that were not training.
  void leave_out(double seconds) { aside_ += seconds; }

  double before() const { return before_; }
  double trained_here() const { return since(begin_) - aside_; }
  double elapsed() const { return before_ + trained_here(); }
  /// Returns the seconds of all training; 0 before stop().
  double seconds() const { return seconds_; }

 private:
  Clock::time_point begin_ = Clock::now();
  double before_ = 0, aside_ = 0, seconds_ = 0;
};

}  // namespace klab
