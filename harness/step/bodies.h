// Parts of rungs that a later rung takes over unchanged: headers next to the rungs, whose names begin with that of the first rung
// that has the part, kernels/<op>/cpu/03_simd-inl.h; where operations share one, kernels/common/<family>/03_simd-inl.h. A learner
// sees their text in place.
#pragma once

#include <string>
#include <vector>

#include "harness/core/registry.h"

namespace klab {

/// Returns the headers of this kind that a source includes.
std::vector<std::string> bodies_of(const std::string& source);

/// Returns the source with the text of these headers in place of their includes, without the comment that each begins with.
/// Throws std::runtime_error if one cannot be read.
std::string with_bodies(const std::string& source);

/// Returns the text of a variant's file, with the parts that it shares in place.
std::string source_text(const Variant& variant);

/// Returns whether a file is klab's rung or such a part of one, so that a learner's file may not include it.
bool is_answer(const std::string& path);

}  // namespace klab
