// The one list of variants. Everything that walks over variants walks over this.
#pragma once

#include <string>
#include <vector>

#include "harness/variant.h"

namespace klab {

/// All registered variants, sorted by op, backend and rung.
const std::vector<Variant>& variants();

/// The variant of that id, or nullptr.
const Variant* find_variant(const std::string& id);

/// Variants of one op, in ladder order; every backend, or the given one.
std::vector<const Variant*> variants_of(const std::string& op, const std::string& backend = "");

/// The first rung of a variant's own ladder: the naive one that speedups are counted from.
const Variant* naive_of(const Variant& variant);

}  // namespace klab
