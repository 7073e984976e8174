// The two halves of check_gradients, each in a file of its own.
#pragma once

#include <span>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"

namespace klab {

/// Point 1, at these shapes of the backward op.
CheckResult check_reference_gradient(const LabOp& backward, const std::vector<std::vector<int64_t>>& shapes,
                                     const CheckOptions& options, CrashGuard& guard);

/// Point 3, at these shapes; failures go to `results`, which are those of `variants` in order.
void check_own_forward(const LabOp& backward, std::span<const Variant* const> variants,
                       const std::vector<std::vector<int64_t>>& shapes, const CheckOptions& options,
                       CrashGuard& guard, std::vector<CheckResult>& results);

}  // namespace klab
