// What a run says of the precision that it was asked for.
#pragma once

#include <span>
#include <string>

#include "harness/program/plan.h"

namespace klab {

/// The unit of the rungs that "f32" or "bf16" lets a plan take. Throws std::invalid_argument for another word.
Unit unit_of_precision(const std::string& precision);

/// Lines for the user: which ops of the plan have factors of fewer bits, and which could not and why. Empty in single precision.
std::string precision_text(const Plan& plan, std::span<const PlannedCall> calls, const std::string& precision,
                           const std::string& ladder);

/// The line for a run that is gone on with in another precision.
std::string conversion_text(const std::string& before, const std::string& now);

}  // namespace klab
