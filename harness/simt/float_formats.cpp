// The conversions to and from the 16-bit formats that kernels call (reference/float16.h), and fused
// multiply-adds, which round once.
#include <bit>
#include <cmath>

#include "harness/simt/runtime_api.h"
#include "reference/float16.h"

namespace klab::simt {
namespace {

/// Returns p + c rounded to odd. The last bit is set when digits were cut off, so that a second rounding is
/// correct.
double add_to_odd(double p, double c) {
  const double sum = p + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - p, error = (p - (sum - part)) + (c - part);  // Knuth's two-sum
  auto bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || bits % 2 == 1) return sum;
  // The sum was rounded to an even neighbor. The odd neighbor on the other side of the true value is
  // adjacent.
  bits += (error > 0) == (sum > 0) ? 1 : uint64_t(-1);
  return std::bit_cast<double>(bits);
}

}  // namespace

uint16_t half_from_float(float x) { return klab::half_from_float(x); }
uint16_t half_from_double(double x) { return klab::half_from_double(x); }
float float_from_half(uint16_t bits) { return klab::float_from_half(bits); }
uint16_t bfloat16_from_float(float x) { return klab::bfloat16_from_float(x); }
uint16_t bfloat16_from_double(double x) { return klab::bfloat16_from_double(x); }
uint16_t half_toward(float x, int direction) {
  const Rounding rounding = direction < 0    ? Rounding::down
                            : direction == 0 ? Rounding::to_zero
                                             : Rounding::up;
  return round_to_16(kHalfFormat, double(x), rounding);
}

uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c) {
  const double product = double(float_from_half(a)) * double(float_from_half(b));
  return klab::half_from_double(add_to_odd(product, double(float_from_half(c))));
}
uint16_t bfloat16_fma(uint16_t a, uint16_t b, uint16_t c) {
  const double product = double(float_from_bfloat16(a)) * double(float_from_bfloat16(b));
  return klab::bfloat16_from_double(add_to_odd(product, double(float_from_bfloat16(c))));
}

}  // namespace klab::simt
