// Tiles: the model against cases computed by hand and, where the processor has the unit, against the unit bit by bit.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/common/tiles.h"

namespace klab {
namespace {

using tiles::Model;
using tiles::shapes;
using Tile = std::array<uint32_t, 256>;  // 16 rows of 16 dwords

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float number(uint32_t x) { return std::bit_cast<float>(x); }

/// A dword of two bfloat16s, cut off: for numbers that are bfloat16s.
uint32_t pair_of(float even, float odd) { return bits(even) >> 16 | (bits(odd) & 0xFFFF0000U); }

uint32_t four_of(int a, int b, int c, int d) {
  return uint32_t(uint8_t(a)) | uint32_t(uint8_t(b)) << 8 | uint32_t(uint8_t(c)) << 16 |
         uint32_t(uint8_t(d)) << 24;
}

enum class Dot { bf16, ss, su, us, uu };

/// c + a·b of tiles with these rows, columns and dwords of depth; rows lie 64 bytes apart.
template <class Tiles>
Tile product(Dot dot, const Tile& c, const Tile& a, const Tile& b, int m, int n, int k) {
  Tile result;
  result.fill(0xDEADBEEF);
  Tiles::configure(shapes({{m, 4 * n}, {m, 4 * k}, {k, 4 * n}}));
  Tiles::template load<0>(c.data(), 64);
  Tiles::template load<1>(a.data(), 64);
  Tiles::template load<2>(b.data(), 64);
  if (dot == Dot::bf16) Tiles::template dot_bf16<0, 1, 2>();
  if (dot == Dot::ss) Tiles::template dot_ss<0, 1, 2>();
  if (dot == Dot::su) Tiles::template dot_su<0, 1, 2>();
  if (dot == Dot::us) Tiles::template dot_us<0, 1, 2>();
  if (dot == Dot::uu) Tiles::template dot_uu<0, 1, 2>();
  Tiles::template store<0>(result.data(), 64);
  Tiles::release();
  return result;
}

/// One sum of depths: pairs of factors in order, added to `c`.
float sum_of(float c, const std::vector<std::array<float, 4>>& pairs) {
  Tile sums{}, left{}, right{};
  sums[0] = bits(c);
  for (size_t k = 0; k < pairs.size(); ++k) {
    left[k] = pair_of(pairs[k][0], pairs[k][1]);
    right[16 * k] = pair_of(pairs[k][2], pairs[k][3]);
  }
  return number(product<Model>(Dot::bf16, sums, left, right, 1, 1, int(pairs.size()))[0]);
}

TEST(TileModel, AddsBothProductsOfAPair) {
  EXPECT_EQ(sum_of(1, {{1.5F, 3, 2, 4}}), 16);
  EXPECT_EQ(sum_of(-2, {{1, 2, 3, 4}, {5, 6, 7, 8}}), -2 + 3 + 8 + 35 + 48);
}

/// 2^24 + 1 is a tie and stays 2^24; the odd depths are added up apart from it, and 2 is not lost.
TEST(TileModel, KeepsSumsOfEvenAndOddDepthsApart) {
  EXPECT_EQ(sum_of(0, {{4096, 1, 4096, 1}, {1, 1, 1, 1}, {1, 0, 1, 0}}), 0x1p24F + 2);
}

TEST(TileModel, RoundsTiesToEven) {
  EXPECT_EQ(sum_of(0x1p24F, {{1, 0, 1, 0}}), 0x1p24F);
  EXPECT_EQ(sum_of(0x1p24F + 2, {{1, 0, 1, 0}}), 0x1p24F + 4);
  EXPECT_EQ(sum_of(-0x1p24F - 2, {{-1, 0, 1, 0}}), -0x1p24F - 4);
}

/// The sum of a tile's products is rounded before it meets the sum that was there: 1 + 2^-24 is a tie and becomes 1.
TEST(TileModel, AddsTheOldSumLast) {
  EXPECT_EQ(sum_of(-1, {{1, 0x1p-24F, 1, 1}}), 0);
  EXPECT_EQ(sum_of(0x1p-24F, {{1, 0, -1, 0}, {1, 0, 1, 0}}), 0x1p-24F);
}

/// 2^128 is no float, but 2^128 - 2^127 is: a product is not rounded before it is added.
TEST(TileModel, FusesProductAndSum) {
  EXPECT_EQ(sum_of(0, {{-0x1p127F, 0, 1, 0}, {0x1p64F, 0, 0x1p64F, 0}}), 0x1p127F);
  EXPECT_EQ(sum_of(0, {{0x1p64F, 0, 0x1p64F, 0}}), INFINITY);
}

TEST(TileModel, TakesDenormalsForZeros) {
  const float denormal = number(0x007F0000);
  EXPECT_EQ(bits(sum_of(0, {{denormal, 0, 0x1p100F, 0}})), 0U);
  EXPECT_EQ(bits(sum_of(0, {{0x1p100F, 0, denormal, 0}})), 0U);
  EXPECT_EQ(bits(sum_of(denormal, {{1, 0, 0, 0}})), 0U);
}

TEST(TileModel, FlushesDenormalResults) {
  EXPECT_EQ(bits(sum_of(0, {{0x1p-64F, 0, 0x1p-63F, 0}})), 0U);             // 2^-127
  EXPECT_EQ(sum_of(0, {{0x1p-63F, 0, 0x1p-63F, 0}}), 0x1p-126F);            // the smallest that stays
  EXPECT_EQ(bits(sum_of(-0x1p-126F, {{0x1.8p-63F, 0, 0x1p-63F, 0}})), 0U);  // 2^-127, by the last sum
  EXPECT_EQ(bits(sum_of(-0.0F, {{-0x1p-64F, -0x1p-64F, 0x1p-63F, 0x1p-63F}})), 0x80000000U);  // of its sign
  // Each of two halves of the smallest float is lost, though their sum would be one.
  EXPECT_EQ(bits(sum_of(0, {{0x1p-64F, 0x1p-64F, 0x1p-63F, 0x1p-63F}})), 0U);
  // A product that would be denormal is whole when it is added: a little more than half a unit rounds up.
  EXPECT_EQ(sum_of(0, {{0x1p-103F, 0, 1, 0}, {0x1p-64F, 0, 0x1p-63F, 0}}), 0x1p-103F);
  EXPECT_EQ(sum_of(0, {{0x1p-103F, 0, 1, 0}, {0x1.02p-64F, 0, 0x1p-63F, 0}}), 0x1p-103F + 0x1p-126F);
}

TEST(TileModel, MultipliesBytesOfBothKinds) {
  Tile a{}, b{}, c{};
  a[0] = four_of(-128, -1, 127, 2);
  b[0] = four_of(-128, 255, 127, 3);
  c[0] = 10;
  const auto first = [&](Dot dot) { return int32_t(product<Model>(dot, c, a, b, 1, 1, 1)[0]); };
  EXPECT_EQ(first(Dot::ss), 10 + 128 * 128 + 1 + 127 * 127 + 6);
  EXPECT_EQ(first(Dot::su), 10 - 128 * 128 - 255 + 127 * 127 + 6);
  EXPECT_EQ(first(Dot::us), 10 - 128 * 128 - 255 + 127 * 127 + 6);
  EXPECT_EQ(first(Dot::uu), 10 + 128 * 128 + 255 * 255 + 127 * 127 + 6);
  a[0] = four_of(255, 0, 0, 0);
  b[0] = four_of(2, 0, 0, 0);
  EXPECT_EQ(first(Dot::su), 10 - 2);
  EXPECT_EQ(first(Dot::us), 10 + 510);
}

TEST(TileModel, SumsOfBytesWrapAround) {
  Tile a{}, b{}, c{};
  a[0] = b[0] = four_of(1, 0, 0, 0);
  c[0] = 0x7FFFFFFF;
  EXPECT_EQ(product<Model>(Dot::ss, c, a, b, 1, 1, 1)[0], 0x80000000U);
}

TEST(TileModel, LoadsAndStoresTheConfiguredRowsAndBytesOnly) {
  Tile from, to;
  from.fill(7);
  to.fill(9);
  Model::configure(shapes({{3, 8}}));
  Model::load<0>(from.data(), 64);
  Model::store<0>(to.data(), 64);
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], i / 16 < 3 && i % 16 < 2 ? 7U : 9U) << i;
  Model::zero<0>();
  Model::store<0>(to.data(), 64);
  EXPECT_EQ(to[16], 0U);
  // A wider configuration begins with zeros: loading one clears all tiles.
  Model::load<0>(from.data(), 64);
  Model::configure(shapes({{16, 64}}));
  Model::store<0>(to.data(), 64);
  EXPECT_EQ(to, Tile{});
  Model::release();
}

TEST(TileModel, HoldsTilesUntilTheyAreReleased) {
  EXPECT_FALSE(holds_tiles());
  Model::configure(shapes({{16, 64}}));
  EXPECT_TRUE(holds_tiles());
  Model::release();
  EXPECT_FALSE(holds_tiles());
}

TEST(TileModelDeathTest, StopsWhereTheProcessorDoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Model::configure(shapes({{17, 64}})), "ldtilecfg: a tile has at most 16 rows");
  EXPECT_DEATH(Model::configure(shapes({{16, 68}})), "at most 64 bytes");
  EXPECT_DEATH(Model::configure(shapes({{16, 0}})), "rows and bytes, or neither");
  EXPECT_DEATH(Model::zero<0>(), "tilezero: no configuration is loaded");
  const auto dot = [](int64_t m, int64_t n, int64_t k, int64_t rows_of_b) {
    Model::configure(shapes({{m, 4 * n}, {16, 4 * k}, {rows_of_b, 4 * n}}));
    Model::dot_bf16<0, 1, 2>();
  };
  EXPECT_DEATH(dot(15, 16, 16, 16), "as many rows as the left tile");
  EXPECT_DEATH(dot(16, 16, 15, 16), "a row for each dword of the left");
  EXPECT_DEATH((Model::configure(shapes({{16, 64}, {16, 64}})), Model::dot_bf16<0, 1, 1>()),
               "three tiles differ");
}

/// Factors of one kind: near 1, any bits, wide, near the smallest float, near the largest, with infinities.
uint32_t draw(int kind, std::mt19937& random) {
  const uint32_t r = random(), sign_and_fraction = r >> 16 & 0x807FU;
  switch (kind) {
    case 0:
      return bits(float(int32_t(r)) * 0x1p-31F) >> 16;
    case 1:
      return r >> 16;
    case 2:
      return sign_and_fraction | ((r & 127) + 64) << 7;
    case 3:
      return sign_and_fraction | (r % 40 + 44) << 7;
    case 4:
      return sign_and_fraction | (r % 24 + 180) << 7;
    default:
      return (r & 31) == 0 ? (r >> 16 & 0x8000U) | 0x7F80U : sign_and_fraction | 127U << 7;
  }
}

Tile drawn(bool sums, Dot dot, int kind, std::mt19937& random) {
  Tile tile;
  for (uint32_t& x : tile) {
    x = uint32_t(random());
    if (dot == Dot::bf16)
      x = draw(kind, random) << 16 | (sums ? x & 0xFFFFU & (kind == 5 ? 0U : ~0U) : draw(kind, random));
  }
  return tile;
}

/// Returns whether both are equal, or both are NaNs: the bits of a NaN are the processor's.
bool same(Dot dot, uint32_t x, uint32_t y) {
  return x == y || (dot == Dot::bf16 && std::isnan(number(x)) && std::isnan(number(y)));
}

/// Denormals are zero, of their sign.
float flushed(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0F, x) : x; }

/// The model as the manual writes it: every depth by fused multiply-adds, without the short way for usual factors.
uint32_t by_definition(uint32_t c, const uint32_t* row, const uint32_t* column, int k) {
  float sums[2] = {};
  for (int p = 0; p < k; ++p)
    for (const int half : {0, 1}) {
      const auto factor = [&](uint32_t both) {
        return flushed(number(half == 0 ? both << 16 : both & 0xFFFF0000U));
      };
      sums[half] = tiles::fused(factor(row[p]), factor(column[16 * p]), sums[half]);
    }
  return bits(flushed(flushed(number(c)) + flushed(sums[0] + sums[1])));
}

TEST(TileModel, TakesTheShortWayOnlyWhereItIsExact) {
  std::mt19937 random(7);
  for (int kind = 0; kind < 6; ++kind)
    for (int trial = 0; trial < 20; ++trial) {
      const Tile c = drawn(true, Dot::bf16, kind, random), a = drawn(false, Dot::bf16, kind, random),
                 b = drawn(false, Dot::bf16, kind, random);
      const Tile got = product<Model>(Dot::bf16, c, a, b, 16, 16, 16);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_TRUE(same(Dot::bf16, got[i], by_definition(c[i], &a[i / 16 * 16], &b[i % 16], 16)))
            << kind << " " << i;
    }
}

TEST(TileModel, EqualsTheUnitBitByBit) {
#if defined(__x86_64__)
  if (tile_unit().state != TileUnit::State::usable) GTEST_SKIP() << tile_unit().why;
  std::mt19937 random(1);
  for (const Dot dot : {Dot::bf16, Dot::ss, Dot::su, Dot::us, Dot::uu})
    for (int kind = 0; kind < (dot == Dot::bf16 ? 6 : 1); ++kind)
      for (int trial = 0; trial < 400; ++trial) {
        const Tile c = drawn(true, dot, kind, random), a = drawn(false, dot, kind, random),
                   b = drawn(false, dot, kind, random);
        const auto size = [&] { return trial % 2 == 0 ? 16 : int(random() % 16) + 1; };
        const int m = size(), n = size(), k = size();
        const Tile model = product<Model>(dot, c, a, b, m, n, k),
                   unit = product<tiles::Unit>(dot, c, a, b, m, n, k);
        for (size_t i = 0; i < model.size(); ++i)
          ASSERT_TRUE(same(dot, model[i], unit[i]))
              << int(dot) << ", kind " << kind << ", " << m << "x" << n << "x" << k << ", " << i << ": model "
              << std::hex << model[i] << ", unit " << unit[i];
      }
#else
  GTEST_SKIP() << "tiles are of x86";
#endif
}

}  // namespace
}  // namespace klab
