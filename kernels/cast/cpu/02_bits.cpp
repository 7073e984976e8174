// cast.cpu.02_bits: rounding as an integer addition.
//
// CHANGE    a float's bits count up with its value, so dropping its low bits rounds down; half of the dropped
//           unit, added before, rounds to nearest, and one more where the last kept bit is odd settles ties.
//           Numbers below the format's normal ones are added to a float whose last digit is the format's
//           smallest number: the adder rounds them. Values that are too large become the smaller of two
//           integers.
// EXPECT    a dozen instructions in place of calls and divisions: ten times the parent and more.
// NUMERICS  the contract's bits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/cast/cast.h"

namespace klab {
namespace {

/// digits and min_exponent as in reference/formats.h; cap: the result for numbers that are too large.
template <int digits, int min_exponent, uint32_t cap, uint32_t nan, int bits>
inline uint32_t narrow(float x) {
  constexpr int drop = 24 - digits;  // fraction bits of a float that the format has not
  constexpr uint32_t least_normal = uint32_t(min_exponent + 127) << 23;
  constexpr uint32_t rebias = uint32_t(min_exponent + 126) << 23;
  constexpr uint32_t adder_bits = uint32_t(min_exponent - digits + 24 + 127) << 23;
  const auto all = std::bit_cast<uint32_t>(x);
  const uint32_t size = all & 0x7FFFFFFFU, sign = all >> 31 << (bits - 1);
  if (size > 0x7F800000U) return nan;
  uint32_t result = (size + ((1U << (drop - 1)) - 1) + (size >> drop & 1U) - rebias) >> drop;
  if (size < least_normal)
    result =
        std::bit_cast<uint32_t>(std::bit_cast<float>(size) + std::bit_cast<float>(adder_bits)) - adder_bits;
  return sign | std::min(result, cap);
}

template <class Out, class Narrow>
void each(const Cast::Args<float>& x, Narrow narrow) {
  const float scale = *x.scale;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const Out out = Out(narrow(x.x[i] * scale));
    std::memcpy(x.out + i * int64_t(sizeof(Out)), &out, sizeof(Out));
  }
}

KLAB_SCALAR_FUNCTION void run(const Cast::Args<float>& x) {
  switch (x.shape.format) {
    case Cast::f16:
      return each<uint16_t>(x, narrow<11, -14, 0x7C00, 0x7FFF, 16>);
    case Cast::bf16:
      return each<uint16_t>(x, narrow<8, -126, 0x7F80, 0x7FFF, 16>);
    case Cast::e4m3:
      return each<uint8_t>(x, narrow<4, -6, 0x7E, 0x7F, 8>);
    case Cast::e5m2:
      return each<uint8_t>(x, narrow<3, -14, 0x7B, 0x7F, 8>);
    default:
      return each<uint8_t>(x, [](float v) {
        return std::isnan(v) ? 0 : uint8_t(int8_t(std::nearbyint(std::clamp(v, -128.0F, 127.0F))));
      });
  }
}

KLAB_VARIANT(Cast, {.run = run, .parent = "01_naive", .expect = {.shape = {1 << 22, 1}, .over_parent = 5}});

}  // namespace
}  // namespace klab
