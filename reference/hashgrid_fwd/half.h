// IEEE 754 binary16 as its 16 bits: what the half-precision copy of a hash table holds.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace klab {

/// The bits of the half nearest to `value`, ties to even; beyond 65504 infinity, NaN stays NaN.
inline uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = uint16_t(bits >> 16 & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return uint16_t(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U) return uint16_t(sign | 0x7C00U);  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {
    // Below 2^-14: a multiple of 2^-24. nearbyint rounds ties to even.
    const float units = std::bit_cast<float>(magnitude) * 0x1p24F;
    return uint16_t(sign | uint16_t(std::nearbyint(units)));
  }
  // Drop 13 of the 23 fraction bits, nearest even; a carry runs into the exponent, as it should.
  const uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
  return uint16_t(sign | uint16_t((rounded >> 13) - (112U << 10)));
}

/// The value of a half given by its bits.
inline float half_value(uint16_t bits) {
  const uint32_t exponent = bits >> 10 & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  float magnitude = 0;
  if (exponent == 0) {
    magnitude = float(fraction) * 0x1p-24F;
  } else if (exponent == 31) {
    magnitude = std::bit_cast<float>(0x7F800000U | fraction << 13);
  } else {
    magnitude = std::bit_cast<float>((exponent + 112U) << 23 | fraction << 13);
  }
  return bits & 0x8000U ? -magnitude : magnitude;
}

}  // namespace klab
