#include "labs/radiance/run/default_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/records/input.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

using nlohmann::json;

/// Instruction sets that take AVX3's plan while they have none of their own: the rungs are the same, with vectors of
/// another length or a few more instructions.
bool is_near_avx3(const std::string& instruction_set) {
  return instruction_set.starts_with("AVX3_") || instruction_set.starts_with("AVX10") ||
         instruction_set == "AVX2";
}

}  // namespace

std::optional<DefaultPlan> default_plan_in(const std::string& text, const std::string& where,
                                           const std::string& field) {
  const json plan = parse_json(text, where);
  try {
    const json& fields = plan.at("fields");
    if (!fields.contains(field)) return std::nullopt;
    return DefaultPlan{.instruction_set = plan.at("instruction_set"),
                       .machine = plan.at("machine"),
                       .variants = plan_from_json(fields.at(field).dump(), where + ", " + field)};
  } catch (const json::exception& e) {
    throw std::runtime_error(
        fmt::format("{}: is no plan of reports/plans.sh, which writes it: {}", where, e.what()));
  }
}

std::optional<DefaultPlan> default_plan(const std::string& field, const std::string& instruction_set) {
  const auto of = [&](const std::string& name) -> std::optional<DefaultPlan> {
    const auto at = std::ranges::find(shipped_plans(), name, &ShippedPlan::instruction_set);
    if (at == shipped_plans().end()) return std::nullopt;
    return default_plan_in(at->text, fmt::format("reports/plans/{}.json", name), field);
  };
  auto plan = of(instruction_set);
  if (!plan && is_near_avx3(instruction_set)) plan = of("AVX3");
  return plan;
}

void use_default_plan(CallTimes& times, const std::string& field) {
  const auto plan = default_plan(field, this_machine().instruction_set);
  if (!plan) return;
  times.stand_in(plan->variants,
                 fmt::format("klab's for {}, recorded on {}", plan->instruction_set, plan->machine));
}

}  // namespace klab
