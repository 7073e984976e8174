// The plans that klab ships with, one for each instruction set on which trainings were recorded (reports/plans): rungs for
// a machine of which no times are known, so that its first training need not begin by timing them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/program/plan.h"

namespace klab {

/// A shipped file, by instruction set.
struct ShippedPlan {
  std::string instruction_set, text;
};

struct DefaultPlan {
  std::string instruction_set;  // on which it was recorded
  std::string machine;          // and on which machine
  VariantIds variants;
};

/// Returns the plan of a field for an instruction set, else that of the shipped one whose vectors are the nearest in length; nothing if
/// klab ships with none for the field. Rungs are the same for all sets, with vectors of another length; where one needs instructions
/// that a processor has not, CallTimes takes the rung that it was made from.
/// Throws std::runtime_error naming the plan's file if that is damaged.
std::optional<DefaultPlan> default_plan(const std::string& field, const std::string& instruction_set);
/// The same among the given files.
std::optional<DefaultPlan> default_plan_among(const std::vector<ShippedPlan>& shipped,
                                              const std::string& field, const std::string& instruction_set);
/// Reads one from the text of its file.
std::optional<DefaultPlan> default_plan_in(const std::string& text, const std::string& where,
                                           const std::string& field);

/// Returns whose plan a processor of this instruction set gets, as an explanation of its rungs names it.
std::string owner_of(const DefaultPlan& plan, const std::string& instruction_set);

/// Lets the rungs of this machine's default plan stand in for unknown times.
void use_default_plan(CallTimes& times, const std::string& field);

/// Returns the shipped files.
const std::vector<ShippedPlan>& shipped_plans();

}  // namespace klab
