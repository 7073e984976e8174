// A ladder of plans: the naive one, then one op after the other replaced by the rung of a better plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "harness/program/profile.h"

namespace klab {

struct PlanRung {
  std::string name;  // "naive", "+ mlp_bwd", ...
  Plan plan;
  std::vector<double> seconds;  // of a step
  std::vector<double> losses;   // of the steps, the first one's first
  Profile profile;              // stages of the timed steps
};

/// The ladder's plans, naive first. `share` is the time of each op in the naive plan: the largest is replaced first.
std::vector<PlanRung> plan_rungs(const Plan& naive, const Plan& best,
                                 const std::map<std::string, double>& share);

}  // namespace klab
