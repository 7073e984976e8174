// Training with fewer bits: values stored in a 16-bit format between ops are rounded to it. Ops themselves
// compute in float, like tensor cores with 16-bit operands.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "reference/rounding.h"

namespace klab::learning {

enum class Precision { f32, bf16, f16 };

inline const char* name_of(Precision p) {
  return p == Precision::f32 ? "f32" : p == Precision::bf16 ? "bf16" : "f16";
}

/// Throws std::invalid_argument for another name.
inline Precision precision_of(const std::string& name) {
  for (const Precision p : {Precision::f32, Precision::bf16, Precision::f16})
    if (name == name_of(p)) return p;
  throw std::invalid_argument(fmt::format("no precision is called {}: --precision f32, bf16 or f16", name));
}

/// Rounds n numbers in place, to nearest even; adds to `lost`.
inline void round_to(Precision precision, float* values, int64_t n, Lost& lost) {
  if (precision == Precision::f32) return;
  lost += klab::round_to(precision == Precision::f16 ? kF16 : kBf16, 1, values, values, n);
}

}  // namespace klab::learning
