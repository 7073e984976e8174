// Called where a kernel computes with a variable that nothing sets (harness/cuda_compiler/never_set.cpp).
#pragma once

namespace klab::program {

/// Reports the computation at the caller's line, if the variable is unset.
void used_in_computation(bool unset, const char* name);

}  // namespace klab::program
