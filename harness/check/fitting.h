// Shapes of a check for rungs that are for few: one that is compared at no shape would pass for nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/variant.h"

namespace klab {

/// Those of the list at which the variant is supported by this machine, in their order.
std::vector<std::vector<int64_t>> fitting(const Variant& variant,
                                          const std::vector<std::vector<int64_t>>& list);

/// Adds to the shapes of a check: the sizes at which the branches among the variants pay, shrunk to what a check can afford; and for
/// each variant that is supported at fewer than eight of them, others that it does.
void add_fitting(const LabOp& op, std::span<const Variant* const> variants, uint64_t seed,
                 std::vector<std::vector<int64_t>>& shapes);

/// So many of the shapes, spread over all of them; and for a variant that is for none of these two that it is for.
std::vector<std::vector<int64_t>> spread_fitting(std::span<const Variant* const> variants,
                                                 const std::vector<std::vector<int64_t>>& shapes,
                                                 size_t most);

}  // namespace klab
