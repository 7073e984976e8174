// What the symbols of a program tell of its kernels and variables, beyond modules.h.
#pragma once

#include "harness/simt/memory.h"

namespace klab::simt {

/// Returns the variable nearest to an address between a program's __device__ variables; nullptr elsewhere.
const Allocation* device_variable_near(const void* p);

/// Returns whether a kernel is CUB's. Blocks of such kernels wait for those with lower numbers, since a GPU begins blocks in that order.
bool is_of_library(const void* kernel);

}  // namespace klab::simt
