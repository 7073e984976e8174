// CUDA variants at a size at which more blocks leave results than threads join them.
//
// At the sizes of a check few grids have 256 blocks, and where a grid fills the device, a host that tells of one multiprocessor keeps it
// small: a kernel that joins one result a thread passes. Here the device has all multiprocessors, and the size is the smallest one that
// makes the joining threads turn.
#pragma once

#include <span>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/check/variant_result.h"

namespace klab {

/// Whether block_turns() of all runs of a variant so far leaves open if its joining threads may turn: there are such threads, and no
/// block has turned twice.
inline bool has_few_blocks(double block_turns) { return block_turns > 0 && block_turns <= 2; }

/// Runs each of them once or twice at such a size, where the host can afford it, and adds a failure where an output is wrong.
void check_many_blocks(const LabOp& op, std::span<const VariantResult> list, const CheckOptions& options,
                       CrashGuard& guard);

}  // namespace klab
