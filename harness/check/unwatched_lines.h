// Names lines of a CUDA variant with a branch that no watched run has entered.
#pragma once

#include <string>

#include "harness/core/variant.h"

namespace klab {

/// Returns "no watched run entered a branch in line 31, 47", with the first few of them, or "".
std::string unwatched_lines(const Variant& variant);

}  // namespace klab
