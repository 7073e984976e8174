// One round of a ladder, run by Google Benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace klab {

/// One thing to time. `call` runs `iterations` times and is timed; `before` and `after` are not, and may be
/// empty.
struct Sample {
  std::function<void()> before;
  std::function<void()> call;
  std::function<void()> after;
  int64_t iterations = 1;
  double seconds = 0;  // result: wall time of one call; 0 when it threw
  double waited = -1;  // result: share of the time that this process's threads were ready to run but had to
                       // wait, since other programs ran; threads add up; negative: the system does not tell
  std::string threw;   // result: what it threw
};

/// Times every sample once, in the order given, by `now` where it is given (seconds). `stop`, asked before each, ends the round early: the
/// remaining samples keep 0 seconds. Returns false then.
bool time_round(std::vector<Sample*>& samples, const std::function<bool()>& stop,
                const std::function<double()>& now = {});

}  // namespace klab
