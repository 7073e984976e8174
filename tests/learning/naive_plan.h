// The naive plan of a network's calls, for which nothing is timed.
#pragma once

#include <vector>

#include "harness/program/plan.h"

namespace klab::learning {

inline Plan naive_plan(const std::vector<PlannedCall>& calls) {
  CallTimes none(std::vector<CallTime>{});
  return Plan::named("naive", calls, none);
}

}  // namespace klab::learning
