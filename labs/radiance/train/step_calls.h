// From lists of ops to calls for a plan.
#pragma once

#include <initializer_list>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/train/op_list.h"

namespace klab {

/// Adds to `calls` those ops of the lists that are not among them, each as it is called most: extents are `rays`, counts
/// `samples`.
void add_other_calls(const Arena& arena, std::initializer_list<const OpList*> lists, int64_t rays,
                     int64_t samples, std::vector<PlannedCall>& calls);

}  // namespace klab
