// What is tried of each variant behind the shapes of a check, each in a file of its own.
#pragma once

#include <span>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/check/many_blocks.h"
#include "harness/check/variant_result.h"

namespace klab {

/// Adds failures to the results: grids with more blocks than threads join (`few`: variants whose grids were small), offsets beyond 2^31
/// bytes, threads that the host code of a CUDA variant leaves behind. `shapes` are those of the check. Does nothing if `options` ask for
/// one shape, for some shapes, or for a quick check.
void check_apart(const LabOp& op, std::span<const VariantResult> all, std::span<const VariantResult> few,
                 const std::vector<std::vector<int64_t>>& shapes, const CheckOptions& options,
                 CrashGuard& guard);

}  // namespace klab
