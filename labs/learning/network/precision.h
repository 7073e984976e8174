// Training in fewer bits: what is stored in a 16-bit format between ops is rounded to it. Ops themselves work in float, as
// tensor cores do behind 16-bit operands.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "reference/float16.h"

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

/// What rounding did to numbers that were not 0.
struct Lost {
  int64_t numbers = 0;   // that were not 0
  int64_t to_zero = 0;   // of these, those that are now
  int64_t infinite = 0;  // of these, those that were finite and are infinite now
  double share() const { return numbers == 0 ? 0 : double(to_zero) / double(numbers); }
};

/// Rounds n numbers in place, to nearest even; adds to `lost`.
inline void round_to(Precision precision, float* values, int64_t n, Lost& lost) {
  if (precision == Precision::f32) return;
  int64_t numbers = 0, to_zero = 0, infinite = 0;
#pragma omp parallel for schedule(static) reduction(+ : numbers, to_zero, infinite) if (n > (1 << 15))
  for (int64_t i = 0; i < n; ++i) {
    const float x = values[i];
    const float y = precision == Precision::f16 ? float_from_half(half_from_float(x))
                                                : float_from_bfloat16(bfloat16_from_float(x));
    numbers += x != 0;
    to_zero += x != 0 && y == 0;
    infinite += std::isfinite(x) && std::isinf(y);
    values[i] = y;
  }
  lost.numbers += numbers;
  lost.to_zero += to_zero;
  lost.infinite += infinite;
}

}  // namespace klab::learning
