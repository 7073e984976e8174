// The hash table whose layout is data: its functions against known values, its laws, and that it is
// hashgrid_fwd where both can do the same.
//
// ctest: sanitized-ops
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <stdexcept>

#include "harness/check/check.h"
#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab {
namespace {

TEST(TableLayout, WordsOfTheFunctions) {
  EXPECT_EQ(table_word(table_hash::primes, 19, 301, 77, 440),
            uint32_t(301ULL ^ (77ULL * 2654435761ULL) ^ (440ULL * 805459861ULL)));
  // 5 = 101, 3 = 011, 6 = 110: z y x from the highest bit on: 101 110 011.
  EXPECT_EQ(table_word(table_hash::morton, 19, 5, 3, 6), 0b101'110'011U);
  // 7 bits: three of x, two of y, two of z.
  EXPECT_EQ(table_word(table_hash::tiled, 7, 13, 6, 7), 0b11'10'101U);
  // pcg3d of (1, 2, 3), worked out by the definition of Jarzynski and Olano.
  uint32_t v[3] = {1, 2, 3};
  for (uint32_t& c : v) c = c * 1664525U + 1013904223U;
  for (int round = 0; round < 2; ++round) {
    v[0] += v[1] * v[2];
    v[1] += v[2] * v[0];
    v[2] += v[0] * v[1];
    if (round == 0)
      for (uint32_t& c : v) c ^= c >> 16;
  }
  EXPECT_EQ(table_word(table_hash::pcg, 19, 1, 2, 3), v[0]);
}

TEST(TableLayout, MortonAndTiledShareEntriesAmongTheSamePoints) {
  // Both keep the low bits of each axis, in another order: who meets whom is the same.
  const TableLevel level = table_level(511, 1 << 14, 0);
  std::mt19937_64 g(5);
  for (int i = 0; i < 20000; ++i) {
    uint32_t a[3], b[3];
    for (int d = 0; d < 3; ++d) {
      a[d] = uint32_t(g() % 512);
      b[d] = g() % 2 ? a[d] : a[d] ^ uint32_t(1U << (g() % 9));
    }
    const auto same = [&](int64_t hash) {
      return table_index(level, hash, a[0], a[1], a[2]) == table_index(level, hash, b[0], b[1], b[2]);
    };
    ASSERT_EQ(same(table_hash::morton), same(table_hash::tiled));
  }
}

TEST(TableLayout, UsesExactlyTheEntriesOfAnySize) {
  for (const int64_t entries : {8, 24, 1000, 1024, 1536, 4088})
    for (int64_t hash = 0; hash < table_hash::count; ++hash) {
      const TableLevel level = table_level(200, entries, 0);
      std::set<uint32_t> seen;
      for (uint32_t x = 0; x < 40; ++x)
        for (uint32_t y = 0; y < 40; ++y)
          for (uint32_t z = 0; z < 40; ++z) seen.insert(table_index(level, hash, x, y, z));
      EXPECT_EQ(int64_t(seen.size()), entries) << hash;
      EXPECT_EQ(int64_t(*seen.rbegin()), entries - 1) << hash;
    }
}

TEST(TableLayout, GrownLevelsCopyTheOldEntryOfTheirPoints) {
  std::mt19937_64 g(7);
  for (const auto& [before, after] : {std::pair<int64_t, int64_t>{8, 8},
                                      {8, 16},
                                      {16, 24},
                                      {24, 32},
                                      {24, 40},
                                      {512, 768},
                                      {768, 1152},
                                      {1152, 1728},
                                      {1000, 4000},
                                      {1536, 2048}})
    for (const int64_t hash : {table_hash::primes, table_hash::morton, table_hash::pcg}) {
      const TableLevel small = table_level(700, before, 0), large = table_level(700, after, 0);
      for (int i = 0; i < 2000; ++i) {
        const auto x = uint32_t(g() % 701), y = uint32_t(g() % 701), z = uint32_t(g() % 701);
        ASSERT_EQ(table_origin(before, table_index(large, hash, x, y, z)), table_index(small, hash, x, y, z))
            << before << " to " << after << ", hash " << hash;
      }
    }
}

TEST(TableLayout, RefusesInvalidLevels) {
  EXPECT_THROW(table_level(-1, 64, 0), std::invalid_argument);
  EXPECT_THROW(table_level(std::nanf(""), 64, 0), std::invalid_argument);
  EXPECT_THROW(table_level(0x1p21F, 64, 0), std::invalid_argument);
  EXPECT_THROW(table_level(16, 0, 0), std::invalid_argument);
  EXPECT_THROW(table_level(16, 60, 0), std::invalid_argument);
  EXPECT_THROW(table_level(16, (int64_t(1) << 28) + 8, 0), std::invalid_argument);
}

/// Inputs of both ops for one grid: hashgrid's shape, and the same levels as data.
struct Both {
  HashgridShape grid{
      .n = 3001, .dim = 3, .levels = 7, .features = 2, .log2_table = 11, .base = 4, .finest = 300};
  HashtableShape data{
      .n = grid.n, .levels = grid.levels, .features = grid.features, .entries = 0, .hash = 0, .blend = 0};
  std::vector<float> scales, positions, table, out;
  std::vector<int64_t> sizes;

  Both() {
    for (const HashgridLevel& level : hashgrid_levels(grid)) {
      scales.push_back(level.scale);
      sizes.push_back(level.entries);
      data.entries += level.entries;
    }
    std::mt19937_64 g(11);
    std::uniform_real_distribution<float> unit(0, 1);
    positions.resize(size_t(3 * grid.n));
    for (float& p : positions) p = unit(g);
    table.resize(size_t(data.entries * grid.features));
    for (float& t : table) t = unit(g) - 0.5F;
    out.resize(size_t(grid.levels * grid.features * grid.n));
  }
};

TEST(Hashtable, EqualsHashgridOnItsLayout) {
  Both b;
  std::vector<float> expected(b.out.size());
  call<HashgridFwd>(*find_variant("hashgrid_fwd.cpu.01_naive"), {.shape = b.grid,
                                                                 .positions = b.positions.data(),
                                                                 .table = b.table.data(),
                                                                 .table_half = nullptr,
                                                                 .features = expected.data()});
  call<HashtableFwd>(*find_variant("hashtable_fwd.cpu.01_naive"), {.shape = b.data,
                                                                   .positions = b.positions.data(),
                                                                   .scales = b.scales.data(),
                                                                   .sizes = b.sizes.data(),
                                                                   .table = b.table.data(),
                                                                   .features = b.out.data()});
  EXPECT_EQ(b.out, expected);

  std::vector<float> d_grid(b.table.size()), d_data(b.table.size());
  call<HashgridBwd>(*find_variant("hashgrid_bwd.cpu.01_serial"), {.shape = b.grid,
                                                                  .positions = b.positions.data(),
                                                                  .d_features = b.out.data(),
                                                                  .d_table = d_grid.data()});
  call<HashtableBwd>(*find_variant("hashtable_bwd.cpu.01_serial"), {.shape = b.data,
                                                                    .positions = b.positions.data(),
                                                                    .scales = b.scales.data(),
                                                                    .sizes = b.sizes.data(),
                                                                    .d_features = b.out.data(),
                                                                    .d_table = d_data.data()});
  EXPECT_EQ(d_data, d_grid);
}

class HashtableForward : public testing::TestWithParam<const Variant*> {};

TEST_P(HashtableForward, ConstantTablesGiveConstantFeaturesForEveryFunction) {
  Both b;
  b.table.assign(b.table.size(), 0.75F);
  for (int64_t hash = 0; hash < table_hash::count; ++hash)
    for (int64_t blend = 0; blend < table_blend::count; ++blend) {
      b.data.hash = hash;
      b.data.blend = blend;
      call<HashtableFwd>(*GetParam(), {.shape = b.data,
                                       .positions = b.positions.data(),
                                       .scales = b.scales.data(),
                                       .sizes = b.sizes.data(),
                                       .table = b.table.data(),
                                       .features = b.out.data()});
      // Weights of a point add up to one but for 11 roundings, and those of smoothstep.
      for (const float f : b.out)
        ASSERT_LE(std::abs(double(f) - 0.75), 0.75 * 24 * 0x1p-24) << hash << " " << blend;
    }
}

TEST_P(HashtableForward, NearestTakesTheEntryOfTheNearestPoint) {
  Both b;
  b.data.blend = table_blend::nearest;
  call<HashtableFwd>(*GetParam(), {.shape = b.data,
                                   .positions = b.positions.data(),
                                   .scales = b.scales.data(),
                                   .sizes = b.sizes.data(),
                                   .table = b.table.data(),
                                   .features = b.out.data()});
  const auto levels = table_levels(b.data.levels, b.scales.data(), b.sizes.data());
  for (size_t l = 0; l < levels.size(); ++l)
    for (int64_t i = 0; i < b.data.n; ++i) {
      uint32_t corner[3];
      for (int d = 0; d < 3; ++d)
        corner[d] = uint32_t(std::lround(b.positions[size_t(d * b.data.n + i)] * levels[l].scale));
      const int64_t entry = levels[l].offset + table_index(levels[l], 0, corner[0], corner[1], corner[2]);
      ASSERT_EQ(b.out[(l * 2) * size_t(b.data.n) + size_t(i)], b.table[size_t(2 * entry)]) << l << " " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(All, HashtableForward, testing::ValuesIn(variants_of("hashtable_fwd", "cpu")),
                         [](const auto& given) { return given.param->rung; });

}  // namespace
}  // namespace klab
