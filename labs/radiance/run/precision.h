// Describes the precision of a run.
#pragma once

#include <span>
#include <string>

#include "harness/program/loss_scale.h"
#include "harness/program/plan.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/state.h"

namespace klab {

/// Returns the unit of the rungs that a plan may use for "f32", "bf16" or "f16". Throws std::invalid_argument
/// for another word.
Unit unit_of_precision(const std::string& precision);

/// Returns lines for the user: which ops of the plan have factors of fewer bits, and which could not and why.
/// Empty in single precision.
std::string precision_text(const Plan& plan, std::span<const PlannedCall> calls, const std::string& precision,
                           const std::string& ladder, const LossScaleSettings& scale = {});

/// Throws std::runtime_error if a precision does nothing for a field on a backend, naming the option and the remedy.
void require_precision(const std::string& precision, const FieldSettings& settings,
                       const std::string& backend);

/// Merges the precision of the command line and of the resumed run into both and into the field's settings.
/// Throws std::runtime_error like require_precision(), and for a loss scale with a precision that has none.
void take_precision(RunOptions& options, RunState& state);

/// Returns the part of a plan that another precision can use: the choices for ops whose rungs serve every precision.
VariantIds plan_for_any_precision(VariantIds plan, const std::string& ladder);

/// Returns the line for a run that is resumed in another precision.
std::string conversion_text(const std::string& before, const std::string& now);

}  // namespace klab
