// Conversions between float and the 16-bit formats, and their fused multiply-adds.
#include <bit>
#include <cmath>
#include <cstring>

#include "harness/simt/runtime_api.h"

namespace klab::simt {
namespace {

struct Format {
  int digits;        // of the mantissa, with the leading one
  int min_exponent;  // of the smallest normal number
  uint16_t infinity, nan;
};
constexpr Format kHalf{11, -14, 0x7C00, 0x7FFF};
constexpr Format kBfloat16{8, -126, 0x7F80, 0x7FFF};

/// Rounds x to the format. direction: 2 nearest even, -1 down, 0 toward zero, 1 up.
uint16_t round_to(const Format& f, double x, int direction) {
  if (x != x) return f.nan;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(x);
  if (a == 0) return sign;
  if (std::isinf(a)) return uint16_t(sign | f.infinity);
  const int exponent = std::max(std::ilogb(a), f.min_exponent);
  const double scaled = std::ldexp(a, f.digits - 1 - exponent);  // below 2^digits, exact
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  const bool away = direction == 2   ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)
                    : direction == 0 ? false
                                     : rest > 0 && (direction > 0) == (sign == 0);
  if (away) whole += 1;
  // The bits of a float format count up from zero through subnormal and normal numbers to infinity.
  const uint32_t bits = uint32_t(exponent - f.min_exponent) * (1u << (f.digits - 1)) + uint32_t(whole);
  if (bits < f.infinity) return uint16_t(sign | bits);
  const bool to_infinity = direction == 2 || (direction != 0 && (direction > 0) == (sign == 0));
  return uint16_t(sign | (to_infinity ? f.infinity : f.infinity - 1));
}

/// p + c rounded to odd: the last bit is set when something was cut off, so that a second rounding is right.
double add_to_odd(double p, double c) {
  const double sum = p + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - p, error = (p - (sum - part)) + (c - part);  // Knuth's two-sum
  auto bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || bits % 2 == 1) return sum;
  // The sum was rounded to an even neighbor; the odd one on the other side of the true value is next to it.
  bits += (error > 0) == (sum > 0) ? 1 : uint64_t(-1);
  return std::bit_cast<double>(bits);
}

}  // namespace

uint16_t half_from_float(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000u);
  bits &= 0x7FFFFFFFu;
  if (bits >= 0x47800000u)  // 65536 and more, infinity, NaN
    return bits > 0x7F800000u ? 0x7FFF : uint16_t(sign | 0x7C00u);
  if (bits < 0x38800000u) {  // below the smallest normal half: let the float adder round
    const float shifted = std::bit_cast<float>(bits) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
  }
  bits += 0xFFFu + (bits >> 13 & 1u);
  return uint16_t(sign | ((bits - 0x38000000u) >> 13));
}

float float_from_half(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, rest = h & 0x7FFFu;
  if (rest >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (rest & 0x3FFu) << 13);
  if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  const float small = float(rest) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(small));
}

uint16_t bfloat16_from_float(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  bits += 0x7FFFu + (bits >> 16 & 1u);
  return uint16_t(bits >> 16);
}

uint16_t half_from_double(double x) { return round_to(kHalf, x, 2); }
uint16_t bfloat16_from_double(double x) { return round_to(kBfloat16, x, 2); }
uint16_t half_toward(float x, int direction) { return round_to(kHalf, double(x), direction); }

uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c) {
  const double product = double(float_from_half(a)) * double(float_from_half(b));
  return round_to(kHalf, add_to_odd(product, double(float_from_half(c))), 2);
}
uint16_t bfloat16_fma(uint16_t a, uint16_t b, uint16_t c) {
  const double product = double(float_from_bfloat16(a)) * double(float_from_bfloat16(b));
  return round_to(kBfloat16, add_to_odd(product, double(float_from_bfloat16(c))), 2);
}

}  // namespace klab::simt
