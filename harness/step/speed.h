// Is a learner's variant fast enough? Decided from numbers alone, so that it can be tried with made-up ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/timing/statistics.h"

namespace klab {

enum class Speed {
  not_asked,  // the step is about something else, or klab's own rung gains nothing here either
  enough,     //
  some,       // faster than the parent, but less than the step asks for
  none,       // no faster
  slower,     //
  undecided,  // the times scatter too much to tell
};
const char* name_of(Speed speed);

/// Times of one size, entry i of each list from the same round.
struct StepTimes {
  std::string size;  // "beyond the caches, n=33554432"
  std::vector<double> parent, yours, own;
  std::vector<double> of_ceiling;  // of yours, one entry a round; may be empty
  std::string ceiling;
  double others = 0;                 // hardware threads that something else kept busy meanwhile
  double expected = 0;               // what klab's rung claims over its parent at this size; 0: nothing
  std::vector<StepTimes> elsewhere;  // at other sizes, with fewer rounds; nothing is claimed there
};

struct SpeedVerdict {
  Speed speed = Speed::not_asked;
  double asked = 0;  // over the parent; 0: nothing
  std::string why;   // not_asked, undecided: the reason
  std::optional<Estimate> over_parent;
  double own_over_parent = 0;
  double of_own = 0;      // klab's time over yours: 1 is as fast
  double of_ceiling = 0;  // 0: there is none
};

/// Asked is half of the way from the parent to what klab's rung claims or, where that is less, reaches here; the median
/// must reach it, and the interval lie above 1. A gain below 5 % is not asked for. Elsewhere it must not lose what the
/// parent had and klab's rung keeps, nor miss two thirds of what klab's rung gains there beyond doubt.
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
    bool worse =
        false;  // far more than both others need: twice the sectors or conflicts, four times the requests
  };
  std::vector<Line> lines;
};

/// Counts that klab's rung lowers by at least a tenth are asked for: yours must come at least half of the way down. Where
/// it lowers none, a smaller need of shared memory is. Threads are shown and never asked for.
CountVerdict judge_counts(const StepCounts& parent, const StepCounts& yours, const StepCounts& own);

/// The same with what was counted at other sizes, where what klab's rung lowers is asked for as well.
struct StepCountsThere {
  std::string shape;
  StepCounts parent, yours, own;
};
CountVerdict judge_counts(const StepCountsThere& here, const std::vector<StepCountsThere>& elsewhere);

}  // namespace klab
