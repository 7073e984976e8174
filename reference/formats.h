// Formats of few bits, and their conversions: float16, bfloat16, tf32, fp8 (e4m3 and e5m2), e2m1 with shared scales, int8. The
// 16-bit ones stand in float16.h; this is the one place of the others.
//
//   format     sign exponent fraction   largest   smallest normal   smallest   beyond the largest     NaN
//   f16          1      5       10        65504        2^-14          2^-24    infinity               yes
//   bf16         1      8        7      3.39e38       2^-126         2^-133    infinity               yes
//   tf32         1      8       10      3.40e38       2^-126         2^-136    infinity               yes
//   e5m2         1      5        2        57344        2^-14          2^-16    the largest            yes
//   e4m3         1      4        3          448         2^-6           2^-9    the largest            yes, no infinity
//   e2m1         1      2        1            6            1            1/2    the largest            no: the largest
//   int8         1      -        7          127            -              1    the largest, -128      no: 0
//
// Every conversion rounds once, to nearest, ties to even, and keeps gradual underflow. Zeros keep their sign. fp8, e2m1 and
// int8 saturate, infinities included, as PTX's cvt with .satfinite does (PTX manual, "cvt"): a lost outlier costs less than an
// infinity that spreads. The bits of e4m3, e5m2 and e2m1 are those of the OCP specifications "8-bit Floating Point" (2023) and
// "Microscaling Formats" (2023).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "reference/float16.h"

namespace klab {

/// One format with a sign, an exponent and a fraction.
struct NarrowFormat {
  std::string_view name;
  int bits;           // of storage, the sign among them
  int digits;         // of the mantissa, with the leading one
  int min_exponent;   // of the smallest normal number
  uint32_t largest;   // bits of the largest finite number
  uint32_t infinity;  // bits of infinity; 0: has none
  uint32_t nan;       // bits that conversions give for NaN; 0: has none
  bool saturates;     // a value that is too large becomes the largest number, not infinity
};

inline constexpr NarrowFormat kF16{"f16", 16, 11, -14, 0x7BFF, 0x7C00, kNan16, false};
inline constexpr NarrowFormat kBf16{"bf16", 16, 8, -126, 0x7F7F, 0x7F80, kNan16, false};
/// As the upper 19 bits of a float, moved down.
inline constexpr NarrowFormat kTf32{"tf32", 19, 11, -126, 0x3FBFF, 0x3FC00, 0x3FFFF, false};
inline constexpr NarrowFormat kE5m2{"e5m2", 8, 3, -14, 0x7B, 0x7C, 0x7F, true};
inline constexpr NarrowFormat kE4m3{"e4m3", 8, 4, -6, 0x7E, 0, 0x7F, true};
inline constexpr NarrowFormat kE2m1{"e2m1", 4, 2, 0, 0x7, 0, 0, true};
inline constexpr std::array kNarrowFormats = {kF16, kBf16, kTf32, kE5m2, kE4m3, kE2m1};

/// The bits of the number of the format nearest to x, in the low f.bits bits.
inline uint32_t encode(const NarrowFormat& f, double x) {
  if (std::isnan(x)) return f.nan != 0 ? f.nan : f.largest;
  const uint32_t sign = std::signbit(x) ? 1U << (f.bits - 1) : 0;
  const uint32_t beyond = f.saturates ? f.largest : f.infinity;
  const double size = std::fabs(x);
  if (std::isinf(size)) return sign | beyond;
  const uint64_t steps = steps_from_zero(f.digits, f.min_exponent, size, true, false);
  return sign | (steps > f.largest ? beyond : uint32_t(steps));
}

/// The value of such bits; exact.
inline double decode(const NarrowFormat& f, uint32_t bits) {
  const uint32_t leading = 1U << (f.digits - 1), size = bits & ((1U << (f.bits - 1)) - 1);
  const double sign = bits >> (f.bits - 1) & 1 ? -1 : 1;
  if (size > f.largest) {
    if (f.infinity != 0 && size == f.infinity) return sign * std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const uint32_t exponent = size / leading, fraction = size % leading;
  if (exponent == 0) return sign * std::ldexp(double(fraction), f.min_exponent - f.digits + 1);
  return sign * std::ldexp(double(fraction + leading), f.min_exponent + int(exponent) - f.digits);
}

/// x with the digits that tf32 keeps. Tensor cores read such floats' upper 19 bits.
inline float round_to_tf32(float x) {
  const uint32_t bits = encode(kTf32, double(x));
  return std::bit_cast<float>(bits << 13);
}

/// The integer nearest to x, ties to even, within -128 ... 127; NaN gives 0.
inline int8_t int8_from(double x) {
  if (std::isnan(x)) return 0;
  const double whole = std::nearbyint(x);
  return int8_t(whole < -128 ? -128 : whole > 127 ? 127 : whole);
}

/// e8m0, the scale that a block of e2m1 shares: 2^(bits - 127), and no number for 255.
inline double decode_scale(uint8_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, int(bits) - 127);
}

/// The scale with which a block's largest size uses the format's last octave (OCP Microscaling, section 6.3):
/// the power of two below it, less e2m1's largest exponent, 2. 1/4 of 2^-125 at the least; all zeros,
/// infinities and NaN give 2^0.
inline uint8_t scale_for(std::span<const float> block) {
  double most = 0;
  for (const float x : block)
    if (std::isfinite(x)) most = std::max(most, std::fabs(double(x)));
  if (most == 0) return 127;
  return uint8_t(std::clamp(std::ilogb(most) - 2 + 127, 0, 254));
}

}  // namespace klab
