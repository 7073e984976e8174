// Rounds one float as a format of fewer bits holds it, on a GPU. Shared by the CUDA rungs of round_narrow.
// reference/rounding.h has the same for the processor, and explains why it is right.
#pragma once

#include "kernels/common/cuda.h"
#include "reference/round_narrow/round_narrow.h"

namespace klab::rounding_device {

struct Rounding {
  int drop = 0;                  // digits that a float has more
  bool upper_bits = false;       // the format has float's exponent
  unsigned least = 0, most = 0;  // exponents: of the smallest normal number, of the largest number
  float largest = 0, beyond = 0;
};

inline Rounding rounding_to(const NarrowFormat& f) {
  const float largest = float(decode(f, f.largest));
  return {24 - f.digits,
          f.min_exponent == -126,
          unsigned(127 + f.min_exponent) << 23,
          std::bit_cast<unsigned>(largest) & 0x7F800000U,
          largest,
          f.saturates ? largest : std::numeric_limits<float>::infinity()};
}

__device__ __forceinline__ float rounded(const Rounding& r, float x) {
  const unsigned bits = __float_as_uint(x);
  if (r.upper_bits) {
    if (x != x) return x;
    const unsigned half = (1U << (r.drop - 1)) - 1 + (bits >> r.drop & 1U);
    return __uint_as_float((bits + half) & ~((1U << r.drop) - 1));
  }
  const unsigned exponent = min(max(bits & 0x7F800000U, r.least), r.most + (1U << 23));
  const float adder = __uint_as_float((exponent + (unsigned(r.drop) << 23)) | 0x00400000U);
  const float kept = __fsub_rn(__fadd_rn(x, adder), adder);
  const float y = fabsf(kept) > r.largest ? r.beyond : kept;
  return __uint_as_float((__float_as_uint(y) & 0x7FFFFFFFU) | (bits & 0x80000000U));
}

/// Counts of outcomes, in the order of the contract.
struct Counts {
  int numbers = 0, to_zero = 0, infinite = 0;
};

__device__ __forceinline__ float rounded(const Rounding& r, float x, Counts& counts) {
  const float y = rounded(r, x);
  counts.numbers += x != 0;
  counts.to_zero += x != 0 && y == 0;
  counts.infinite += fabsf(x) <= 3.402823466e+38F && fabsf(y) > 3.402823466e+38F;
  return y;
}

}  // namespace klab::rounding_device
