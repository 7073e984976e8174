// What the symbols of a program tell of its kernels and variables, beyond modules.h.
#pragma once

#include "harness/simt/memory.h"

namespace klab::simt {

/// Returns the variable nearest to an address between a program's __device__ variables; nullptr elsewhere.
const Allocation* device_variable_near(const void* p);

/// Returns whether a kernel is CUB's. Blocks of such kernels wait for those with lower numbers, since a GPU begins blocks in that order.
bool is_of_library(const void* kernel);

/// Whose an access is: the program's, that of a merge of CUB, of another part of CUB, or of another header of a toolkit.
enum class LibraryPart { none, merge, cub, other };

/// Returns it by the innermost inlined function at that address that is not klab's.
LibraryPart library_part_at(const void* return_address);

}  // namespace klab::simt
