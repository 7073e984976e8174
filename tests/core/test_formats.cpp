// Formats of few bits: every pattern of each round-trips, every tie goes to even, values that are too large
// follow the header's rule.
// ctest: sanitized
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/formats.h"

namespace klab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Formats, EveryPatternRoundTrips) {
  for (const NarrowFormat& f : kNarrowFormats)
    for (uint32_t bits = 0; bits < 1U << f.bits; ++bits) {
      const double value = decode(f, bits);
      if (std::isnan(value)) {
        ASSERT_EQ(encode(f, value), f.nan) << f.name << " " << bits;
      } else if (std::isinf(value) && f.saturates) {
        ASSERT_EQ(encode(f, value), f.largest | (value < 0 ? 1U << (f.bits - 1) : 0U)) << f.name;
      } else {
        ASSERT_EQ(encode(f, value), bits) << f.name << " " << value;
        ASSERT_EQ(std::signbit(value), bits >> (f.bits - 1) == 1) << f.name << " " << bits;
      }
    }
}

/// Bits count up with the values; between two neighbors the middle goes to the even one and nothing else does.
TEST(Formats, TiesGoToEvenAndNothingElse) {
  for (const NarrowFormat& f : kNarrowFormats)
    for (uint32_t bits = 0; bits < f.largest; ++bits) {
      const double low = decode(f, bits), high = decode(f, bits + 1), middle = (low + high) / 2;
      ASSERT_LT(low, high) << f.name << " " << bits;
      ASSERT_EQ(encode(f, middle), bits + bits % 2) << f.name << " " << bits;
      ASSERT_EQ(encode(f, std::nextafter(middle, 0)), bits) << f.name;
      ASSERT_EQ(encode(f, std::nextafter(middle, kInfinity)), bits + 1) << f.name;
      ASSERT_EQ(encode(f, -middle), (bits + bits % 2) | 1U << (f.bits - 1)) << f.name;
    }
}

TEST(Formats, TooLargeValuesSaturateOrOverflow) {
  for (const NarrowFormat& f : kNarrowFormats) {
    const double most = decode(f, f.largest), step = most - decode(f, f.largest - 1);
    const uint32_t beyond = f.saturates ? f.largest : f.infinity, sign = 1U << (f.bits - 1);
    EXPECT_EQ(encode(f, most + 0.49 * step), f.largest) << f.name;
    EXPECT_EQ(encode(f, most + 0.51 * step), beyond) << f.name;
    EXPECT_EQ(encode(f, -2 * most), beyond | sign) << f.name;
    EXPECT_EQ(encode(f, kInfinity), beyond) << f.name;
  }
}

/// The figures of the table, from the specifications.
TEST(Formats, LargestAndSmallest) {
  EXPECT_EQ(decode(kF16, kF16.largest), 65504);
  EXPECT_EQ(decode(kF16, 1), 0x1p-24);
  EXPECT_EQ(decode(kBf16, 1), 0x1p-133);
  EXPECT_EQ(decode(kTf32, 1), 0x1p-136);
  EXPECT_EQ(decode(kE5m2, kE5m2.largest), 57344);
  EXPECT_EQ(decode(kE5m2, 1), 0x1p-16);
  EXPECT_EQ(decode(kE4m3, kE4m3.largest), 448);
  EXPECT_EQ(decode(kE4m3, 1), 0x1p-9);
  const std::vector<double> all = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t bits = 0; bits < 8; ++bits) EXPECT_EQ(decode(kE2m1, bits), all[bits]);
  EXPECT_EQ(encode(kE2m1, NAN), 7U);
  EXPECT_EQ(encode(kE4m3, NAN), 0x7FU);
}

/// float16.h's own conversions are these two formats.
TEST(Formats, SixteenBitsAreThoseOfFloat16) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double half = decode(kF16, bits), brain = decode(kBf16, bits);
    if (!std::isnan(half)) ASSERT_EQ(double(float_from_half(uint16_t(bits))), half);
    if (!std::isnan(brain)) ASSERT_EQ(double(float_from_bfloat16(uint16_t(bits))), brain);
    // Floats from all over, three roundings' worth apart.
    const float x = std::bit_cast<float>(bits * 65521U + 0x1FFFU);
    ASSERT_EQ(encode(kF16, double(x)), half_from_float(x)) << x;
    ASSERT_EQ(encode(kBf16, double(x)), bfloat16_from_float(x)) << x;
  }
}

TEST(Formats, Tf32KeepsTenFractionBits) {
  EXPECT_EQ(round_to_tf32(1 + 0x1p-10F), 1 + 0x1p-10F);
  EXPECT_EQ(round_to_tf32(1 + 0x1p-11F), 1.0F);
  EXPECT_EQ(round_to_tf32(1 + 0x3p-11F), 1 + 0x1p-9F);
  EXPECT_EQ(round_to_tf32(-INFINITY), -INFINITY);
  EXPECT_EQ(round_to_tf32(std::numeric_limits<float>::max()), INFINITY);
  EXPECT_TRUE(std::isnan(round_to_tf32(NAN)));
}

TEST(Formats, Int8RoundsToEvenAndSaturates) {
  for (int i = -128; i <= 127; ++i) EXPECT_EQ(int8_from(i), i);
  for (int i = -128; i < 127; ++i) EXPECT_EQ(int8_from(i + 0.5), i + (i & 1)) << i;
  EXPECT_EQ(int8_from(127.5), 127);
  EXPECT_EQ(int8_from(-1e30), -128);
  EXPECT_EQ(int8_from(kInfinity), 127);
  EXPECT_EQ(int8_from(NAN), 0);
}

/// A block's largest number lands between 4 and 8 after division by the scale: in e2m1's last octave, or saturated from it.
TEST(Formats, ScalesOfBlocks) {
  for (const float most : {1e-30F, 0.1F, 1.0F, 6.0F, 7.99F, 8.0F, 1e30F}) {
    const std::vector<float> block = {0, -most / 3, most, most / 7};
    const double scaled = double(most) / decode_scale(scale_for(block));
    EXPECT_GE(scaled, 4) << most;
    EXPECT_LT(scaled, 8) << most;
  }
  EXPECT_EQ(scale_for(std::vector<float>{0, 0}), 127);
  EXPECT_EQ(scale_for(std::vector<float>{NAN, 4, INFINITY}), 127);
  EXPECT_TRUE(std::isnan(decode_scale(255)));
}

}  // namespace
}  // namespace klab
