#include "harness/program/plan_rungs.h"

#include <algorithm>

namespace klab {

std::vector<PlanRung> plan_rungs(const Plan& naive, const Plan& best,
                                 const std::map<std::string, double>& share) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [op, seconds] : share) order.emplace_back(seconds, op);
  std::sort(order.rbegin(), order.rend());
  std::vector<PlanRung> rungs = {{"naive", naive, {}, {}, {}}};
  for (const auto& [seconds, op] : order) {
    if (!naive.contains(op)) continue;
    const Plan::Choice& choice = best.at(op);
    if (choice.variant == naive.variant(op)) continue;
    Plan plan = rungs.back().plan;
    plan.choose(op, choice);
    rungs.push_back({"+ " + choice.variant->id, std::move(plan), {}, {}, {}});
  }
  // At last what takes the place of several ops of the naive plan.
  for (const auto& [op, choice] : best.choices()) {
    if (rungs.back().plan.contains(op)) continue;
    Plan plan = rungs.back().plan;
    plan.choose(op, choice);
    rungs.push_back({"+ " + choice.variant->id, std::move(plan), {}, {}, {}});
  }
  return rungs;
}

}  // namespace klab
