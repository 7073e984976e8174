// 16-bit floats: exact one way, rounded once the other, for every number they have.
// ctest: sanitized
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/core/element.h"
#include "harness/simt/runtime_api.h"
#include "reference/float16.h"

namespace klab {
namespace {

constexpr uint32_t kPatterns = 0x10000;

/// The value of a pattern by the standard's formula.
double value_of(uint32_t bits, const Float16Format& f) {
  const uint32_t size = bits & 0x7FFFU, leading = 1U << (f.digits - 1);
  if (size > f.infinity) return std::numeric_limits<double>::quiet_NaN();
  const double sign = bits & 0x8000U ? -1 : 1;
  if (size == f.infinity) return sign * std::numeric_limits<double>::infinity();
  const uint32_t exponent = size / leading, fraction = size % leading;
  const double whole = exponent == 0 ? fraction : fraction + leading;
  return sign * std::ldexp(whole, f.min_exponent + int(std::max(exponent, 1U)) - f.digits);
}

TEST(Float16, EveryHalfRoundTripsAndAllNansBecomeOne) {
  for (uint32_t bits = 0; bits < kPatterns; ++bits) {
    const double value = value_of(bits, kHalfFormat);
    const float wide = float_from_half(uint16_t(bits));
    const uint16_t expected = std::isnan(value) ? kNan16 : uint16_t(bits);
    ASSERT_EQ(half_from_float(wide), expected) << bits;
    ASSERT_EQ(half_from_double(double(wide)), expected) << bits;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_EQ(std::bit_cast<uint32_t>(wide) >> 13 & 0x3FFU, bits & 0x3FFU) << "payload of " << bits;
    } else {
      ASSERT_EQ(double(wide), value) << bits;
      ASSERT_EQ(std::signbit(wide), (bits & 0x8000U) != 0) << bits;
    }
  }
}

TEST(Float16, EveryBfloat16RoundTripsAndAllNansBecomeOne) {
  for (uint32_t bits = 0; bits < kPatterns; ++bits) {
    const double value = value_of(bits, kBfloat16Format);
    const float wide = float_from_bfloat16(uint16_t(bits));
    const uint16_t expected = std::isnan(value) ? kNan16 : uint16_t(bits);
    ASSERT_EQ(bfloat16_from_float(wide), expected) << bits;
    ASSERT_EQ(bfloat16_from_double(double(wide)), expected) << bits;
    if (!std::isnan(value)) ASSERT_EQ(double(wide), value) << bits;
  }
}

/// Between each two neighbors of a format: the middle goes to the even one, its neighbors to the nearer one.
TEST(Float16, TiesGoToEvenAndNothingElse) {
  const auto both = [](const Float16Format& f, uint32_t bits, uint16_t (*from_float)(float),
                       uint16_t (*from_double)(double)) {
    const double low = value_of(bits, f);
    // Beyond the largest number the next one in sequence is assumed.
    const double high = bits + 1 < f.infinity ? value_of(bits + 1, f) : 2 * low - value_of(bits - 1, f);
    const double middle = (low + high) / 2;
    const auto even = uint16_t(bits % 2 == 0 ? bits : bits + 1);
    const double inf = std::numeric_limits<double>::infinity();
    for (const uint16_t sign : {uint16_t(0), uint16_t(0x8000)}) {
      const double s = sign != 0 ? -1 : 1;
      ASSERT_EQ(from_double(s * middle), sign | even) << bits;
      ASSERT_EQ(from_double(s * std::nextafter(middle, 0)), sign | bits) << bits;
      ASSERT_EQ(from_double(s * std::nextafter(middle, inf)), sign | (bits + 1)) << bits;
      const auto narrow = float(middle);
      if (double(narrow) != middle) continue;  // below a float's own steps
      ASSERT_EQ(from_float(float(s) * narrow), sign | even) << bits;
      ASSERT_EQ(from_float(float(s) * std::nextafterf(narrow, 0)), sign | bits) << bits;
      ASSERT_EQ(from_float(float(s) * std::nextafterf(narrow, INFINITY)), sign | (bits + 1)) << bits;
    }
  };
  for (uint32_t bits = 0; bits < kHalfFormat.infinity; ++bits)
    both(kHalfFormat, bits, half_from_float, half_from_double);
  for (uint32_t bits = 0; bits < kBfloat16Format.infinity; ++bits)
    both(kBfloat16Format, bits, bfloat16_from_float, bfloat16_from_double);
}

TEST(Float16, DirectedRoundingStaysOnItsSide) {
  EXPECT_EQ(round_to_16(kHalfFormat, 1 + 0x1p-20, Rounding::down), 0x3C00);
  EXPECT_EQ(round_to_16(kHalfFormat, 1 + 0x1p-20, Rounding::up), 0x3C01);
  EXPECT_EQ(round_to_16(kHalfFormat, -1 - 0x1p-20, Rounding::down), 0xBC01);
  EXPECT_EQ(round_to_16(kHalfFormat, -1 - 0x1p-20, Rounding::to_zero), 0xBC00);
  EXPECT_EQ(round_to_16(kHalfFormat, 1e9, Rounding::to_zero), 0x7BFF);
  EXPECT_EQ(round_to_16(kHalfFormat, 1e9, Rounding::up), 0x7C00);
  EXPECT_EQ(round_to_16(kHalfFormat, -1e9, Rounding::up), 0xFBFF);
}

/// An element is rounded once: by way of a float this would be a tie, and go down.
TEST(Float16, ElementsRoundOnce) {
  const double above_the_tie = 1 + 0x1p-8 + 0x1p-40;
  uint16_t bits = 0;
  store(Element::bf16, &bits, 0, above_the_tie);
  EXPECT_EQ(load(Element::bf16, &bits, 0), 1 + 0x1p-7);
  store(Element::f16, &bits, 0, 1 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(load(Element::f16, &bits, 0), 1 + 0x1p-10);
  store(Element::bf16, &bits, 0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(bits, kNan16);
}

/// Kernels call the same, across the border to their modules.
TEST(Float16, TheExecutorUsesTheSameConversions) {
  for (const float x : {0.1F, -65520.F, 1e-7F, 3e38F, NAN}) {
    EXPECT_EQ(simt::half_from_float(x), half_from_float(x));
    EXPECT_EQ(simt::bfloat16_from_float(x), bfloat16_from_float(x));
    EXPECT_EQ(simt::half_from_double(double(x)), half_from_float(x));
  }
  // 1·1 + 2^-11 is a tie; the product's last bit decides.
  const uint16_t one = 0x3C00, next = 0x3C01, half_ulp = half_from_float(0x1p-11F);
  EXPECT_EQ(simt::half_fma(one, one, half_ulp), one);
  EXPECT_EQ(simt::half_fma(next, one, half_ulp), 0x3C02);
}

}  // namespace
}  // namespace klab
