#include "labs/radiance/run/default_plans.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/records/input.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

using nlohmann::json;

/// Returns the bytes of a vector, by Highway's names of instruction sets; for those of which the processor decides, the usual length.
int vector_bytes(const std::string& instruction_set) {
  if (instruction_set.starts_with("AVX3") || instruction_set.starts_with("AVX10")) return 64;
  if (instruction_set == "AVX2" || instruction_set.starts_with("SVE")) return 32;
  return instruction_set == "SCALAR" ? 4 : 16;
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

std::optional<DefaultPlan> default_plan_among(const std::vector<ShippedPlan>& shipped,
                                              const std::string& field, const std::string& instruction_set) {
  const auto distance = [&](const std::string& other) {
    if (other == instruction_set) return -1.0;
    return std::abs(std::log2(double(vector_bytes(other)) / vector_bytes(instruction_set)));
  };
  std::optional<DefaultPlan> nearest;
  for (const ShippedPlan& file : shipped) {
    if (nearest && distance(file.instruction_set) >= distance(nearest->instruction_set)) continue;
    auto plan = default_plan_in(file.text, fmt::format("reports/plans/{}.json", file.instruction_set), field);
    if (plan) nearest = std::move(plan);
  }
  return nearest;
}

std::optional<DefaultPlan> default_plan(const std::string& field, const std::string& instruction_set) {
  return default_plan_among(shipped_plans(), field, instruction_set);
}

std::string owner_of(const DefaultPlan& plan, const std::string& instruction_set) {
  return fmt::format("klab's for {}{}, recorded on {}", plan.instruction_set,
                     plan.instruction_set == instruction_set ? "" : ", the nearest to " + instruction_set,
                     plan.machine);
}

void use_default_plan(CallTimes& times, const std::string& field) {
  const std::string& own = this_machine().instruction_set;
  if (const auto plan = default_plan(field, own)) times.stand_in(plan->variants, owner_of(*plan, own));
}

}  // namespace klab
