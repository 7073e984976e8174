// Threads that the host code of a CUDA variant leaves behind.
//
// CUDA variants are checked several at a time, so that threads cannot be told apart. Here each runs once more, alone.
#pragma once

#include <span>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/check/variant_result.h"

namespace klab {

/// Runs each CUDA variant of the list at the cheapest of the shapes that it supports, and adds a failure if a thread that it started
/// outlives the call. Does nothing where this build does not watch threads.
void check_host_side(const LabOp& op, std::span<const VariantResult> list,
                     const std::vector<std::vector<int64_t>>& shapes, const CheckOptions& options,
                     CrashGuard& guard);

}  // namespace klab
