// Reacts when memory becomes short during training: drops caches first, then halves the batch repeatedly; the
// batch grows back after memory has been plentiful for long enough.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace klab {

/// Thresholds as shares of the memory that the process has or could get; both 0: the rule is off.
struct PressureRule {
  double low = 0.05;    // short if less than this is left
  double high = 0.25;   // plentiful if more than this is left
  int64_t reserve = 0;  // bytes: short if fewer are left, plentiful if twice as many are
  bool off() const { return high == 0; }
};

/// Parses "5:25" (percent) or "off". Throws std::invalid_argument with the expected form.
PressureRule pressure_rule_from(const std::string& text);

/// The system's memory figures at a moment.
struct MemoryReading {
  int64_t resident = 0;   // bytes that the process has
  int64_t available = 0;  // bytes that it could still get; 0: unknown
  double stalled = 0;     // share of the last ten seconds in which a task waited for memory, in [0,1]
};

/// Reads available_memory() and the kernel's memory pressure for the process's control group, or else for the
/// whole system (memory.pressure, /proc/pressure/memory: "some", avg10; A. Weiner's pressure stall
/// information).
MemoryReading memory_reading();

enum class Relief { none, drop_caches, shrink, grow };

class Pressure {
 public:
  explicit Pressure(PressureRule rule, std::function<MemoryReading()> read = memory_reading)
      : rule_(rule), read_(std::move(read)) {}

  /// Returns the action to take now; to be called about once a second. If memory is short: drop_caches first,
  /// then shrink while it stays short. If memory was plentiful kCalm times in a row: grow, and again after as
  /// many more.
  Relief measure();
  /// Describes the last reading: "212 MB left of 4.10 GB".
  std::string text() const;

  static constexpr int kCalm = 10;
  static constexpr double kStalled = 0.2;  // share of time that counts as short, however much is left

 private:
  PressureRule rule_;
  std::function<MemoryReading()> read_;
  MemoryReading last_;
  bool dropped_ = false;  // caches were dropped since memory was last sufficient
  int calm_ = 0;
};

}  // namespace klab
