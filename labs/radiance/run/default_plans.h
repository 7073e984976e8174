// The plans that klab ships with, one for each instruction set on which trainings were recorded (reports/plans): rungs for
// a machine of which no times are known, so that its first training need not begin by timing them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/program/plan.h"

namespace klab {

struct DefaultPlan {
  std::string instruction_set;  // on which it was recorded
  std::string machine;          // and on which machine
  VariantIds variants;
};

/// Returns the plan of a field for an instruction set, or AVX3's for one near to it; nothing if klab ships with none.
/// Throws std::runtime_error naming the plan's file if that is damaged.
std::optional<DefaultPlan> default_plan(const std::string& field, const std::string& instruction_set);
/// Reads one from the text of its file.
std::optional<DefaultPlan> default_plan_in(const std::string& text, const std::string& where,
                                           const std::string& field);

/// Lets the rungs of this machine's default plan stand in for unknown times.
void use_default_plan(CallTimes& times, const std::string& field);

/// Returns the texts of the shipped files, by instruction set.
struct ShippedPlan {
  std::string instruction_set, text;
};
const std::vector<ShippedPlan>& shipped_plans();

}  // namespace klab
