// What a run says of the precision that it was asked for.
#pragma once

#include <span>
#include <string>

#include "harness/program/loss_scale.h"
#include "harness/program/plan.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/state.h"

namespace klab {

/// The unit of the rungs that "f32", "bf16" or "f16" lets a plan take. Throws std::invalid_argument for another word.
Unit unit_of_precision(const std::string& precision);

/// Lines for the user: which ops of the plan have factors of fewer bits, and which could not and why. Empty in single precision.
std::string precision_text(const Plan& plan, std::span<const PlannedCall> calls, const std::string& precision,
                           const std::string& ladder, const LossScaleSettings& scale = {});

/// Throws std::runtime_error where a field has no such precision, naming the option and what to do.
void require_precision(const std::string& precision, const std::string& field);

/// What the command line and the resumed run come to, for both and for the field's settings. Throws std::runtime_error as
/// require_precision(), and for a loss scale of a precision that has none.
void take_precision(RunOptions& options, RunState& state);

/// What of a plan stays when its run goes on in another precision: choices for ops all of whose rungs serve every precision.
VariantIds plan_for_any_precision(VariantIds plan, const std::string& ladder);

/// The line for a run that is gone on with in another precision.
std::string conversion_text(const std::string& before, const std::string& now);

}  // namespace klab
