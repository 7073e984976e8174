// The tensor core's product of bytes on the host executor: against sums of whole numbers, which are exact.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "harness/simt/session.h"
#include "reference/formats.h"
#include "tests/simt/counted_module.h"

namespace klab {
namespace {

using Product = void (*)(const uint8_t*, const uint8_t*, const float*, float*, bool);
using Convert = void (*)(const float*, uint32_t*, bool);

/// Any number of the format.
uint8_t any(const NarrowFormat& f, std::mt19937& random) {
  return uint8_t(random() % (f.largest + 1) | (random() & 1U) << 7);
}

// Products of e5m2 and e4m3 are multiples of 2^-25 of at most 50 bits, so 32 of them and a c of the same kind are a whole number of
// 64 bits; so are those of two e4m3s. That number rounded to float is the answer.
TEST(TensorFp8, SumsAreExactAndRoundedOnce) {
  const auto product = of_module<Product>("tensor_fp8_product");
  ASSERT_TRUE(product) << dlerror();
  std::mt19937 random(7);
  for (const bool e5m2 : {false, true}) {
    const NarrowFormat& of_a = e5m2 ? kE5m2 : kE4m3;
    for (int turn = 0; turn < 40; ++turn) {
      std::array<uint8_t, 16 * 32> a;
      std::array<uint8_t, 8 * 32> b;
      std::array<float, 16 * 8> c, d;
      for (uint8_t& v : a) v = any(of_a, random);
      for (uint8_t& v : b) v = any(kE4m3, random);
      for (float& v : c) v = turn % 4 == 0 ? 0 : std::ldexp(float(int(random() % 2001) - 1000), -9);
      simt::Session session({.traced = true});
      product(a.data(), b.data(), c.data(), d.data(), e5m2);
      ASSERT_TRUE(session.findings().empty());
      for (size_t i = 0; i < 16; ++i)
        for (size_t j = 0; j < 8; ++j) {
          auto sum = int64_t(std::ldexp(double(c[i * 8 + j]), 25));
          for (size_t k = 0; k < 32; ++k)
            sum += int64_t(std::ldexp(decode(of_a, a[i * 32 + k]) * decode(kE4m3, b[j * 32 + k]), 25));
          EXPECT_EQ(d[i * 8 + j], std::ldexp(float(sum), -25)) << of_a.name << " " << i << "," << j;
        }
    }
  }
}

TEST(TensorFp8, FloatsBecomeTheNearestBytes) {
  const auto convert = of_module<Convert>("tensor_fp8_convert");
  ASSERT_TRUE(convert) << dlerror();
  std::mt19937 random(3);
  for (const bool e5m2 : {false, true}) {
    const NarrowFormat& f = e5m2 ? kE5m2 : kE4m3;
    for (int turn = 0; turn < 200; ++turn) {
      std::array<float, 64> x;
      std::array<uint32_t, 32> pairs;
      // Sizes about the format's, and now and then any pattern of bits, infinities and NaN among them.
      for (float& v : x)
        v = random() % 8 == 0 ? std::bit_cast<float>(uint32_t(random()))
                              : std::ldexp(float(int(random() % 4001) - 2000), int(random() % 40) - 30);
      x[0] = INFINITY, x[1] = -0.0F, x[2] = 464, x[3] = 17, x[4] = NAN;
      simt::Session session({.traced = true});
      convert(x.data(), pairs.data(), e5m2);
      for (size_t i = 0; i < 64; ++i) {
        const auto bits = uint8_t(pairs[i / 2] >> (i % 2 * 8));
        EXPECT_EQ(bits, encode(f, double(x[i]))) << f.name << " of " << x[i];
      }
    }
  }
}

}  // namespace
}  // namespace klab
