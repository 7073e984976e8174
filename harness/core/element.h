// Elements of any type a contract may name, read and written as double.
#pragma once

#include <cstdint>

#include "harness/core/op.h"

namespace klab {

/// The element at `index` of an array of that type. Exact for every type but i64 beyond 2^53.
double load(Element element, const void* array, int64_t index);

/// Stores, rounding to nearest even where the type is narrower; integers are clamped to their range.
void store(Element element, void* array, int64_t index, double value);

/// True for the types that hold whole numbers.
bool is_integer(Element element);

/// Half the distance from 1 to the next larger value; 0 for integers.
double unit_roundoff(Element element);

/// The smallest positive value of a floating-point type; 0 for integers.
double smallest_denormal(Element element);

/// The largest finite value.
double largest(Element element);

}  // namespace klab
