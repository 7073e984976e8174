// Dimensions at the end of a shape that may be left out: the contract names them in `optional`, and 0 is what they are then.
//
// Other values are for those variants only that name the dimension in VariantSpec::needs; all others refuse them (registry.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/op.h"

namespace klab {

/// Keeps the names that a contract calls optional, tensors and dimensions. Called once for each variant that registers.
void keep_optional_names(std::string_view op, std::span<const char* const> names);

/// Returns whether dimension `d` may be left out.
bool is_optional_dim(const Op& op, size_t d);

/// Returns whether `name` is a dimension of the op, and no tensor.
bool is_dim(const Op& op, std::string_view name);

/// Returns how many numbers a shape has at the least.
size_t fewest_dims(const Op& op);

/// Returns whether a list of that many numbers can be a shape: all dimensions, or all but some that may be left out.
bool fits_dims(const Op& op, size_t numbers);

/// Returns the shape without the zeros at its end that may be left out: a size has one text.
ShapeView shortest(const Op& op, ShapeView shape);

/// Returns the shape with a zero for each dimension that was left out.
std::vector<int64_t> with_all_dims(const Op& op, ShapeView shape);

}  // namespace klab
