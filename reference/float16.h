// The 16-bit float formats as their bits: IEEE 754 binary16 (half) and bfloat16, the upper half of a
// binary32. The one place where they are converted: contracts that have them, the checker's elements, and the
// host executor of CUDA.
//
// Conversions to 16 bits round once, to nearest, ties to even; a value beyond the largest number by half a
// unit or more becomes infinity, and numbers below the normal ones keep their gradual underflow. Every NaN
// becomes the one NaN 0x7FFF, as on NVIDIA's GPUs (PTX, "cvt"): sign and payload are not kept. Conversions
// from 16 bits are exact, NaN payloads included.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace klab {

struct Float16Format {
  int digits;        // of the mantissa, with the leading one
  int min_exponent;  // of the smallest normal number
  uint16_t infinity;
};
inline constexpr Float16Format kHalfFormat{11, -14, 0x7C00}, kBfloat16Format{8, -126, 0x7F80};
inline constexpr uint16_t kNan16 = 0x7FFF;

enum class Rounding { down, to_zero, up, nearest_even };

/// How many steps of a float format a size >= 0 is away from zero, rounded once: the bits without the sign, because those
/// count up from zero through subnormal and normal numbers. `digits` of the mantissa with the leading one, `min_exponent` of
/// the smallest normal number. Knows nothing of a largest number. `outward`: cut off, or up where anything was cut off.
inline uint64_t steps_from_zero(int digits, int min_exponent, double size, bool nearest, bool outward) {
  if (size == 0) return 0;
  const int exponent = std::max(std::ilogb(size), min_exponent);
  const double scaled = std::ldexp(size, digits - 1 - exponent);  // below 2^digits, exact
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  const bool to_next =
      nearest ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0) : outward && rest > 0;
  if (to_next) whole += 1;
  return uint64_t(exponent - min_exponent) * (uint64_t{1} << (digits - 1)) + uint64_t(whole);
}

/// x rounded to the format, once.
inline uint16_t round_to_16(const Float16Format& f, double x, Rounding rounding = Rounding::nearest_even) {
  if (std::isnan(x)) return kNan16;
  const bool negative = std::signbit(x);
  const uint16_t sign = negative ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (std::isinf(size)) return uint16_t(sign | f.infinity);
  const bool outward = rounding == (negative ? Rounding::down : Rounding::up);  // away from zero
  const bool nearest = rounding == Rounding::nearest_even;
  const uint64_t bits = steps_from_zero(f.digits, f.min_exponent, size, nearest, outward);
  if (bits < f.infinity) return uint16_t(sign | bits);
  return uint16_t(sign | (nearest || outward ? f.infinity : f.infinity - 1));
}

/// The bits of the half nearest to x.
inline uint16_t half_from_double(double x) { return round_to_16(kHalfFormat, x); }
/// The same for a float, in a few instructions.
inline uint16_t half_from_float(float x) {
  const auto all = std::bit_cast<uint32_t>(x);
  const auto sign = uint16_t(all >> 16 & 0x8000U);
  const uint32_t bits = all & 0x7FFFFFFFU;
  if (bits > 0x7F800000U) return kNan16;
  if (bits >= 0x47800000U) return uint16_t(sign | 0x7C00U);  // 65536 and more
  if (bits < 0x38800000U) {  // below the smallest normal half: the float adder rounds to multiples of 2^-24
    const float shifted = std::bit_cast<float>(bits) + 0.5F;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  // Drop 13 of the 23 fraction bits, nearest even; a carry runs into the exponent, and to infinity, as it should.
  const uint32_t rounded = bits + 0xFFFU + (bits >> 13 & 1U);
  return uint16_t(sign | ((rounded - 0x38000000U) >> 13));
}

inline float float_from_half(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000U) << 16, rest = h & 0x7FFFU;
  if (rest >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  if (rest >= 0x400U) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000U));
  const float small = float(rest) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(small));
}

/// The bits of the bfloat16 nearest to x. By way of a float it would round twice.
inline uint16_t bfloat16_from_double(double x) { return round_to_16(kBfloat16Format, x); }
/// The same for a float, in a few instructions.
inline uint16_t bfloat16_from_float(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return kNan16;
  return uint16_t((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

/// The element of a contract's bfloat16 tensor, where a plain uint16_t is a half.
enum class Bfloat16 : uint16_t {};

inline float float_from_bfloat16(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }
inline float float_from(Bfloat16 b) { return float_from_bfloat16(uint16_t(b)); }
inline Bfloat16 to_bfloat16(float x) { return Bfloat16{bfloat16_from_float(x)}; }

}  // namespace klab
