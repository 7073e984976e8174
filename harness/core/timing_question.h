// Whether a variant can be timed here: a stricter question than whether it can run.
//
// What a processor lacks may be replaced by a model that computes the same values, so that rungs can be checked on every machine.
// How long a model takes says nothing about the rung.
#pragma once

#include <string>

#include "harness/core/variant.h"

namespace klab {

/// Returns why the variant cannot be timed at this shape, as Variant::supported does; empty where it can.
std::string supported_for_timing(const Variant& variant, ShapeView shape, const Host& host);

/// Returns whether the calling thread asks a variant by supported_for_timing().
bool asked_for_timing();

}  // namespace klab
