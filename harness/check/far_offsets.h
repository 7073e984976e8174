// Variants at shapes whose inputs reach beyond 2^31 bytes (reference/far_shapes.h).
//
// An offset in bytes that is kept in an int is wrong there. The inputs are a few megabytes of pages that are mapped again and again,
// before the tensor too, so that a wrapped offset reads another number and does not end the process.
#pragma once

#include <span>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/check/variant_result.h"

namespace klab {

/// Runs each CPU variant once at each of these shapes of the op, and adds a failure where an output is wrong. A note in
/// each result says so if the process has no room for addresses.
void check_far_offsets(const LabOp& op, std::span<const VariantResult> list, const CheckOptions& options,
                       CrashGuard& guard);

}  // namespace klab
