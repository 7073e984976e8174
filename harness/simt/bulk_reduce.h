// Sums, minima and bit operations that stores of the copy engine make in memory (PTX manual, "cp.reduce.async.bulk").
#pragma once

#include <cstddef>

#include "harness/simt/cluster_api.h"

namespace klab::simt {

/// Returns why the instruction does not exist for an operation and a type; empty if it does.
const char* no_reduction(BulkReduce how, BulkType type);
/// The same for reductions in shared memory (PTX manual, "red.async", "cp.reduce.async.bulk": .shared::cluster).
const char* no_reduction_in_shared(BulkReduce how, BulkType type);
/// to[k] = to[k] op from[k] for `bytes` of elements.
void reduce_in_place(char* to, const char* from, size_t bytes, BulkReduce how, BulkType type);

}  // namespace klab::simt
