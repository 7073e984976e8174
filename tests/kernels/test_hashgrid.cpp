// The hash encoding: its layout against known values, its laws, and sizes beyond the blocks and batches of
// its rungs.
//
// ctest: sanitized-ops
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/registry.h"
#include "reference/float16.h"
#include "reference/generator.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

TEST(HashgridLayout, PublishedExample) {
  const auto levels = hashgrid_levels(3, 20, 16, 32, 1.5);
  ASSERT_EQ(levels.size(), 20U);
  EXPECT_EQ(levels[0].entries, 32768);
  EXPECT_TRUE(levels[0].dense);
  for (size_t l = 1; l < levels.size(); ++l) {
    EXPECT_EQ(levels[l].entries, 65536) << l;
    EXPECT_FALSE(levels[l].dense) << l;
    EXPECT_EQ(levels[l].mask, 65535U) << l;
    EXPECT_EQ(levels[l].offset, levels[l - 1].offset + levels[l - 1].entries) << l;
  }
  EXPECT_EQ(hashgrid_entries(levels) * 2, 2555904);
}

TEST(HashgridLayout, GrowthLeadsFromBaseToFinest) {
  EXPECT_NEAR(hashgrid_growth(16, 16, 2048), 1.3819, 5e-5);
  EXPECT_EQ(hashgrid_growth(8, 16, 2048), 2);
  EXPECT_EQ(hashgrid_growth(1, 16, 2048), 1);
  const auto levels = hashgrid_levels(HashgridShape{1, 3, 16, 2, 19, 16, 2048});
  EXPECT_EQ(levels.front().resolution, 16);
  EXPECT_EQ(levels.back().resolution, 2048);
  EXPECT_EQ(levels.back().scale, 2047.0F);
}

TEST(HashgridLayout, DenseLevelsCountPointsWithXFastest) {
  const auto level = hashgrid_levels(3, 1, 16, 5, 1)[0];
  ASSERT_TRUE(level.dense);
  EXPECT_EQ(level.entries, 128);  // 125 rounded up to a multiple of 8
  int64_t next = 0;
  for (int64_t z = 0; z < 5; ++z)
    for (int64_t y = 0; y < 5; ++y)
      for (int64_t x = 0; x < 5; ++x) {
        const int64_t corner[3] = {x, y, z};
        EXPECT_EQ(hashgrid_index(level, 3, corner), next++);
      }
  const int64_t beyond[3] = {5, 5, 5};
  EXPECT_EQ(hashgrid_index(level, 3, beyond), 155 - 128);
}

TEST(HashgridLayout, HashIsTheExclusiveOrOfProducts) {
  const auto level = hashgrid_levels(3, 1, 19, 512, 1)[0];
  ASSERT_FALSE(level.dense);
  const int64_t corner[3] = {301, 77, 440};
  const uint64_t hash = 301ULL ^ (77ULL * 2654435761ULL) ^ (440ULL * 805459861ULL);
  EXPECT_EQ(hashgrid_index(level, 3, corner), int64_t(hash % (1ULL << 19)));
}

TEST(HashgridLayout, RefusesInvalidGrids) {
  EXPECT_THROW(hashgrid_levels(4, 1, 19, 16, 2), std::invalid_argument);
  EXPECT_THROW(hashgrid_levels(3, 0, 19, 16, 2), std::invalid_argument);
  EXPECT_THROW(hashgrid_levels(3, 1, 29, 16, 2), std::invalid_argument);
  EXPECT_THROW(hashgrid_levels(3, 1, 19, 0, 2), std::invalid_argument);
  EXPECT_THROW(hashgrid_levels(3, 1, 19, 16, std::nan("")), std::invalid_argument);
  EXPECT_THROW(hashgrid_levels(3, 32, 19, 16, 2), std::invalid_argument);  // finer than 2^20
}

TEST(HashgridUse, DenseLevelsShareNoEntryAndCrowdedOnesShareAll) {
  constexpr int64_t n = 4000;
  std::vector<float> positions(3 * n);
  std::mt19937_64 g(3);
  std::uniform_real_distribution<float> inside(0.05F, 0.95F);
  for (float& p : positions) p = inside(g);
  const HashgridUse dense = hashgrid_use(hashgrid_levels(3, 1, 19, 32, 1)[0], 3, n, positions.data());
  EXPECT_EQ(dense.points, dense.entries);
  EXPECT_EQ(dense.alone, 1);
  const HashgridUse crowded = hashgrid_use(hashgrid_levels(3, 1, 8, 512, 1)[0], 3, n, positions.data());
  EXPECT_GT(crowded.points, 20000);
  EXPECT_EQ(crowded.entries, 256);  // every entry, about a hundred points each
  EXPECT_LT(crowded.alone, 0.01);
  // m points into k entries at random: k*(1 - (1-1/k)^m) of the entries are hit. The hash should do about as well.
  const HashgridUse half = hashgrid_use(hashgrid_levels(3, 1, 15, 512, 1)[0], 3, n, positions.data());
  const double expected = 32768 * (1 - std::pow(1 - 1 / 32768.0, double(half.points)));
  EXPECT_NEAR(double(half.entries), expected, 0.05 * expected);
}

/// All tensors of one shape for float variants, the table given by `value`.
struct Case {
  HashgridShape shape;
  std::vector<float> positions, table, features;
  std::vector<uint16_t> half;

  Case(const HashgridShape& s, float value) : shape(s) {
    const auto values = size_t(hashgrid_entries(hashgrid_levels(s)) * s.features);
    positions.resize(size_t(s.n * s.dim));
    std::mt19937_64 g(7);
    std::uniform_real_distribution<float> unit(0, 1);
    for (float& p : positions) p = std::min(unit(g), 0x1.fffffep-1F);
    table.assign(values, value);
    half.assign(values, half_from_float(value));
    features.assign(size_t(s.n * s.levels * s.features), std::nanf(""));
  }
  std::vector<int64_t> dims() const {
    return {shape.n, shape.dim, shape.levels, shape.features, shape.log2_table, shape.base, shape.finest, 0};
  }
};

class HashgridForward : public testing::TestWithParam<const Variant*> {};

TEST_P(HashgridForward, WeightsSumToOneSoAConstantTableGivesConstantFeatures) {
  for (const int64_t dim : {2, 3})
    for (const int64_t features : {1, 2, 4, 8}) {
      Case c({1000, dim, 9, features, 10, 3, 700}, 0.75F);
      void* const pointers[] = {c.positions.data(), c.table.data(), c.half.data(), c.features.data()};
      GetParam()->bind(c.dims(), pointers)();
      // Fractions are exact, so only products and sums of weights round: 2^dim + dim times.
      const double bound = 0.75 * double((1 << dim) + dim) * 0x1p-24;
      for (const float f : c.features) ASSERT_LE(std::abs(double(f) - 0.75), bound) << dim << " " << features;
    }
}

TEST_P(HashgridForward, GridPointsGiveTheirEntries) {
  // 2-D, base 5: scale 4, so x = (k - 0.5)/4 is grid point k exactly.
  Case c({9, 2, 1, 2, 8, 5, 5}, 0);
  const HashgridLevel level = hashgrid_levels(c.shape)[0];
  for (int64_t i = 0; i < 9; ++i) {
    c.positions[size_t(i)] = (float(1 + i % 3) - 0.5F) / 4;
    c.positions[size_t(9 + i)] = (float(1 + i / 3) - 0.5F) / 4;
  }
  for (size_t e = 0; e < c.table.size(); ++e) {
    c.table[e] = float(e);
    c.half[e] = half_from_float(float(e));
  }
  void* const pointers[] = {c.positions.data(), c.table.data(), c.half.data(), c.features.data()};
  GetParam()->bind(c.dims(), pointers)();
  for (int64_t i = 0; i < 9; ++i) {
    const int64_t corner[2] = {1 + i % 3, 1 + i / 3};
    for (int64_t f = 0; f < 2; ++f)
      EXPECT_EQ(c.features[size_t(f * 9 + i)], float(hashgrid_index(level, 2, corner) * 2 + f)) << i;
  }
}

TEST_P(HashgridForward, LevelsLargerThanCachesNearTheCore) {
  const Variant* one[] = {GetParam()};
  const LabOp* op = find_op("hashgrid_fwd");
  ASSERT_NE(op, nullptr);
  CheckOptions options;
  options.quick = true;
  // 2 MB dense and 4 MB hashed, and many points for each of two threads: rungs that go another way with large levels or
  // with many points do so here.
  options.shape = {70003, 3, 2, 4, 18, 51, 200, 0};
  const auto levels = hashgrid_levels(HashgridShape{70003, 3, 2, 4, 18, 51, 200});
  ASSERT_TRUE(levels[0].dense);
  ASSERT_FALSE(levels[1].dense);
  ASSERT_GT(levels[0].entries * 16, 1 << 21);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(2);
  const auto results = check(*op, one, options).variants;
  omp_set_num_threads(threads);
  for (const CheckResult& r : results) EXPECT_TRUE(r.passed()) << r.variant;
}

INSTANTIATE_TEST_SUITE_P(All, HashgridForward, testing::ValuesIn(variants_of("hashgrid_fwd", "cpu")),
                         [](const auto& given) { return given.param->rung; });

class HashgridBackward : public testing::TestWithParam<const Variant*> {};

TEST_P(HashgridBackward, SpreadsEveryGradientWithoutLoss) {
  // Weights of a point sum to one: the table receives the sum of all gradients.
  Case c({5000, 3, 3, 2, 12, 8, 300}, 0);
  std::vector<float> gradient(c.features.size());
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = float(i % 7) - 2;
  void* const pointers[] = {c.positions.data(), gradient.data(), c.table.data()};
  GetParam()->bind(c.dims(), pointers)();
  const auto levels = hashgrid_levels(c.shape);
  for (int64_t l = 0; l < 3; ++l)
    for (int64_t f = 0; f < 2; ++f) {
      double sent = 0, arrived = 0;
      for (int64_t i = 0; i < c.shape.n; ++i) sent += gradient[size_t((l * 2 + f) * c.shape.n + i)];
      for (int64_t e = 0; e < levels[size_t(l)].entries; ++e)
        arrived += c.table[size_t((levels[size_t(l)].offset + e) * 2 + f)];
      // An entry has some hundred contributions of at most 4 in magnitude; all of them together 5000 points' worth.
      EXPECT_NEAR(arrived, sent, 5000 * 4 * 1000 * 0x1p-24) << l << " " << f;
    }
}

TEST_P(HashgridBackward, SizesBeyondBlocksAndBatches) {
  const LabOp* op = find_op("hashgrid_bwd");
  const Variant* const one[] = {GetParam()};
  CheckOptions options;
  options.quick = true;
  for (const int64_t coherent : {0, 1}) {
    options.shape = {16400, 3, 2, 2, 14, 16, 64, coherent};
    for (const CheckResult& r : check(*op, one, options).variants)
      EXPECT_TRUE(r.passed()) << r.variant << " " << coherent;
  }
}

TEST_P(HashgridBackward, LevelsLargerThanCachesNearTheCore) {
  const LabOp* op = find_op("hashgrid_bwd");
  const Variant* const one[] = {GetParam()};
  CheckOptions options;
  options.quick = true;
  options.gradients = false;
  options.shape = {20003, 3, 2, 4, 18, 51, 200, 0};  // 2 MB dense, 4 MB hashed
  for (const CheckResult& r : check(*op, one, options).variants) EXPECT_TRUE(r.passed()) << r.variant;
}

INSTANTIATE_TEST_SUITE_P(All, HashgridBackward, testing::ValuesIn(variants_of("hashgrid_bwd", "cpu")),
                         [](const auto& given) { return given.param->rung; });

TEST(HashgridMarch, SamplesStayInsideAndClose) {
  const HashgridShape s{1000, 3, 1, 2, 10, 16, 16, 1};
  std::vector<float> p(3000);
  Generator g(1);
  hashgrid_march(s, p.data(), g);
  int64_t close = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    double square = 0;
    for (int64_t d = 0; d < 3; ++d) {
      EXPECT_GE(p[size_t(d * s.n + i)], 0);
      EXPECT_LT(p[size_t(d * s.n + i)], 1);
      if (i > 0) square += std::pow(double(p[size_t(d * s.n + i)]) - double(p[size_t(d * s.n + i - 1)]), 2);
    }
    if (i > 0 && std::sqrt(square) < 1.01 * std::sqrt(3.0) / 1024) ++close;
  }
  EXPECT_GT(close, 900);
}

}  // namespace
}  // namespace klab
