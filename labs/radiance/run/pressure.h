// What a run does when memory gets short while it trains: caches go first, then the batch is halved, again and again; it grows
// back when there is room for long enough.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace klab {

/// Thresholds as shares of what the process has and could have; both 0: the rule is off.
struct PressureRule {
  double low = 0.05;   // less than this is left: short
  double high = 0.25;  // more than this is left: room
  bool off() const { return high == 0; }
};

/// "5:25" (percent), or "off". Throws std::invalid_argument saying what it must be.
PressureRule pressure_rule_from(const std::string& text);

/// What the system says of memory at a moment.
struct MemoryReading {
  int64_t resident = 0;   // bytes that the process has
  int64_t available = 0;  // bytes that it could still have; 0: nothing is known
  double stalled = 0;     // share of the last ten seconds in which something waited for memory, in [0,1]
};

/// By available_memory(), and by the pressure that the kernel tells of the process's control group or else of the whole
/// system (memory.pressure, /proc/pressure/memory: "some", avg10; A. Weiner's pressure stall information).
MemoryReading memory_reading();

enum class Relief { none, drop_caches, shrink, grow };

class Pressure {
 public:
  explicit Pressure(PressureRule rule, std::function<MemoryReading()> read = memory_reading)
      : rule_(rule), read_(std::move(read)) {}

  /// To be asked about once a second: what should be done now. Short of memory: at first drop_caches, and as long as that does
  /// not help shrink. Room for kCalm looks in a row: grow, which is asked for again after as many more.
  Relief look();
  /// The last reading in words: "212 MB left of 4.10 GB".
  std::string text() const;

  static constexpr int kCalm = 10;
  static constexpr double kStalled = 0.2;  // of the time: short, whatever is left

 private:
  PressureRule rule_;
  std::function<MemoryReading()> read_;
  MemoryReading last_;
  bool dropped_ = false;  // caches, since memory was last not short
  int calm_ = 0;
};

}  // namespace klab
