// Decides whether a learner's variant is fast enough. Uses only numbers, so it can be tested with made-up
// ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/timing/statistics.h"

namespace klab {

enum class Speed {
  not_asked,  // the step is not about speed, or klab's own rung gains nothing here either
  enough,     //
  some,       // faster than the parent, but less than required
  none,       // not faster
  slower,     //
  undecided,  // the times scatter too much
};
const char* name_of(Speed speed);

/// Times at one size; entry i of each list is from the same round.
struct StepTimes {
  std::string size;  // "beyond the caches, n=33554432"
  std::vector<double> parent, yours, own;
  std::vector<double> of_ceiling;  // of your variant, one entry per round; may be empty
  std::string ceiling;
  double others = 0;                 // hardware threads that other work used during the timing
  double expected = 0;               // claimed speedup of klab's rung over its parent at this size; 0: none
  std::vector<StepTimes> elsewhere;  // at other sizes, with fewer rounds and without claims
};

struct SpeedVerdict {
  Speed speed = Speed::not_asked;
  double asked = 0;  // required speedup over the parent; 0: none
  std::string why;   // reason, for not_asked and undecided
  std::optional<Estimate> over_parent;
  double own_over_parent = 0;
  double of_own = 0;      // klab's time over yours: 1 is as fast
  double of_ceiling = 0;  // 0: no ceiling
};

/// Requires half of the gain that klab's rung claims over the parent or, if that is less, reaches here. The
/// median must reach it, and the interval must lie above 1. Gains below 5 % are not required. At other sizes
/// the variant must not lose speed that klab's rung keeps, nor miss two thirds of a gain that klab's rung
/// clearly has there.
SpeedVerdict judge_times(const StepTimes& times);

/// Counts of a CUDA variant executed on the host, "sectors" -> 4096.
using StepCounts = std::map<std::string, int64_t>;
inline constexpr const char* kThreads = "threads";
inline constexpr const char* kSharedBytes = "shared bytes per block";

struct CountVerdict {
  Speed speed = Speed::not_asked;
  std::string why;
  struct Line {
    std::string name;
    int64_t parent = 0, yours = 0, own = 0;
    bool asked = false, reached = true;
    bool worse = false;  // far more than both others: twice the sectors or conflicts, four times the requests
  };
  std::vector<Line> lines;
};

/// Requires lower counts where klab's rung lowers them by at least a tenth: yours must go at least half of
/// the way. If it lowers none, a smaller use of shared memory is required. Threads are shown and never
/// required.
CountVerdict judge_counts(const StepCounts& parent, const StepCounts& yours, const StepCounts& own);

/// Judges counts at several sizes: gains of klab's rung at other sizes are required as well.
struct StepCountsThere {
  std::string shape;
  StepCounts parent, yours, own;
};
CountVerdict judge_counts(const StepCountsThere& here, const std::vector<StepCountsThere>& elsewhere);

}  // namespace klab
