// Reads and writes elements of any type that a contract may use, as double.
#pragma once

#include <cstdint>

#include "harness/core/op.h"

namespace klab {

/// Returns the element at `index` of an array of that type. Exact for every type except i64 beyond 2^53.
double load(Element element, const void* array, int64_t index);

/// Stores a value, rounded to nearest even if the type is narrower; integers are clamped to their range.
void store(Element element, void* array, int64_t index, double value);

/// Returns whether the type holds integers.
bool is_integer(Element element);

/// Returns half the distance from 1 to the next larger value; 0 for integers.
double unit_roundoff(Element element);

/// Returns the smallest positive value of a floating-point type; 0 for integers.
double smallest_denormal(Element element);

/// Returns the largest finite value.
double largest(Element element);

}  // namespace klab
