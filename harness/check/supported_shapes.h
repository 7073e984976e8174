// Picks extra shapes for rungs that support few; a rung checked at no shape would pass vacuously.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/variant.h"

namespace klab {

/// Returns the shapes of the list that the variant supports on this machine, in their order.
std::vector<std::vector<int64_t>> supported_among(const Variant& variant,
                                                  const std::vector<std::vector<int64_t>>& list);

/// Adds to the shapes of a check: the sizes at which the branches among the variants pay, shrunk to what a check can afford; and for
/// each variant that supports fewer than eight of them, others that it supports.
void add_supported_shapes(const LabOp& op, std::span<const Variant* const> variants, uint64_t seed,
                          std::vector<std::vector<int64_t>>& shapes);

/// Returns at most `most` of the shapes, spread over all of them, plus two supported shapes for each variant that supports none of
/// them.
std::vector<std::vector<int64_t>> spread_supported(std::span<const Variant* const> variants,
                                                   const std::vector<std::vector<int64_t>>& shapes,
                                                   size_t most);

}  // namespace klab
