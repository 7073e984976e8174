// Converts lists of ops to calls for a plan.
#pragma once

#include <initializer_list>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/train/op_list.h"

namespace klab {

/// Adds to `calls` the ops of the lists that are missing, each with its largest call: extents are `rays`,
/// counts `samples`.
void add_other_calls(const Arena& arena, std::initializer_list<const OpList*> lists, int64_t rays,
                     int64_t samples, std::vector<PlannedCall>& calls);

}  // namespace klab
