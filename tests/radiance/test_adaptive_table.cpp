// A hash table that grows and shrinks while it is trained: growing changes no value, shrinking keeps the
// right one of two entries, and a training with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "labs/radiance/train/adaptive_table.h"
#include "labs/radiance/train/trainer.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

std::vector<float> features_of(const std::vector<float>& scales, const std::vector<int64_t>& sizes,
                               const std::vector<float>& table, int64_t hash,
                               const std::vector<float>& positions) {
  const auto n = int64_t(positions.size() / 3), levels = int64_t(sizes.size());
  std::vector<float> out(size_t(2 * levels * n));
  call<HashtableFwd>(*find_variant("hashtable_fwd.cpu.01_naive"),
                     {.shape = {.n = n,
                                .levels = levels,
                                .features = 2,
                                .entries = int64_t(table.size() / 2),
                                .hash = hash,
                                .blend = 0},
                      .positions = positions.data(),
                      .scales = scales.data(),
                      .sizes = sizes.data(),
                      .table = table.data(),
                      .features = out.data()});
  return out;
}

TEST(AdaptiveTable, GrowingKeepsFeaturesToTheBit) {
  const std::vector<float> scales = {15, 40, 101.5F, 511};
  const std::vector<std::vector<int64_t>> steps = {
      {4096, 512, 512, 512}, {4096, 768, 512, 768}, {4096, 1152, 768, 1152}, {4096, 1152, 1152, 1728}};
  std::mt19937_64 g(3);
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<float> positions(3 * 4000);
  for (float& p : positions) p = g() % 50 == 0 ? float(g() % 2) : unit(g);
  for (const int64_t hash : {table_hash::primes, table_hash::morton, table_hash::pcg}) {
    std::vector<float> table(2 * 10000), moments(2 * 10000);
    std::vector<int32_t> counts(10000);
    for (size_t i = 0; i < table.size(); ++i) {
      table[i] = unit(g);
      moments[i] = 3 * table[i];
    }
    for (size_t e = 0; e < counts.size(); ++e) counts[e] = int32_t(1000 * table[2 * e]);
    const std::vector<float> before = features_of(scales, steps[0], table, hash, positions);
    const std::vector<int32_t> used(10000);
    for (size_t k = 0; k + 1 < steps.size(); ++k) {
      resize_levels({.values = {table.data(), moments.data()}, .counts = {counts.data()}, .features = 2},
                    steps[k], steps[k + 1], used.data());
      EXPECT_EQ(features_of(scales, steps[k + 1], table, hash, positions), before)
          << "hash " << hash << ", growth " << k;
      // Parameters and their moments stay together.
      for (int64_t e = 0; e < 4096 + 3 * 768; ++e) {
        ASSERT_EQ(moments[size_t(2 * e)], 3 * table[size_t(2 * e)]);
        ASSERT_EQ(counts[size_t(e)], int32_t(1000 * table[size_t(2 * e)]));
      }
    }
  }
}

TEST(AdaptiveTable, ShrinkingKeepsTheEntryThatIsInUse) {
  // 24 entries become 16: 16 to 23 were split off 0 to 7.
  std::vector<float> table(24);
  std::vector<int32_t> counts(24), used(24);
  for (int e = 0; e < 24; ++e) {
    table[size_t(e)] = float(e);
    counts[size_t(e)] = e;
    used[size_t(e)] = e % 2 == 0 ? e : 0;
  }
  resize_levels({.values = {table.data()}, .counts = {counts.data()}, .features = 1}, {24}, {16},
                used.data());
  for (int e = 0; e < 16; ++e) {
    const int kept = e < 8 && e % 2 == 0 ? e + 16 : e;
    EXPECT_EQ(table[size_t(e)], float(kept)) << e;
    EXPECT_EQ(counts[size_t(e)], kept) << e;
  }
  for (int e = 16; e < 24; ++e) EXPECT_EQ(table[size_t(e)], 0) << "what nobody has is zero";
}

TEST(AdaptiveTable, RefusesHashesThatDependOnTheSize) {
  Config c;
  c.table = "adaptive";
  EXPECT_NO_THROW(c.validate());
  c.hash = "tiled";
  try {
    c.validate();
    ADD_FAILURE();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("morton"), std::string::npos) << e.what();
  }
  c.hash = "morton";
  c.table_sparse = 0.4;
  EXPECT_THROW(c.validate(), std::invalid_argument) << "a level that has grown would shrink";
}

Config adaptive_config() {
  Config c = small_config();
  c.table = "adaptive";
  c.table_every = 4;
  c.grid_warmup = 8;
  c.table_idle = 12;
  return c;
}

TEST(AdaptiveTable, CrowdedLevelsGrowByHalfAsLongAsThereIsRoom) {
  Config c = adaptive_config();
  c.levels = 3;
  c.log2_table = 14;
  c.base_resolution = 64;
  c.finest_resolution = 256;
  c.table_entries = 3 * 1024 + 700;
  AdaptiveTable table(c, 1);
  const std::vector<int64_t> first = table_sizes(c, 1);
  EXPECT_EQ(first, (std::vector<int64_t>{1024, 1024, 1024}));
  EXPECT_EQ(table_room(c, 1), (3 * 1024 + 700) / 8 * 8);
  const std::vector<size_t> coarse = {0, 1, 2};
  EXPECT_EQ(table.wanted(first, {0.6, 0.3, 0.9}, {2, 1, 0}), (std::vector<int64_t>{1024, 1024, 1536}))
      << "the first in the order has the room";
  EXPECT_EQ(table.wanted(first, {0.6, 0.3, 0.9}, coarse), (std::vector<int64_t>{1536, 1024, 1024}))
      << "room for one only";
  EXPECT_EQ(table.wanted(first, {0.6, 0.05, 0.9}, coarse), (std::vector<int64_t>{1536, 688, 1536}))
      << "what shrinks makes room";
  EXPECT_EQ(table.wanted({512, 1024, 1024}, {0.01, 0.5, 0.15}, coarse),
            (std::vector<int64_t>{512, 1024, 1024}))
      << "neither crowded nor idle, or as small as may be";
}

TEST(AdaptiveTable, LevelsWithLargeGradientsGrowFirstIfAskedTo) {
  Config c = adaptive_config();
  c.levels = 3;
  const std::vector<int64_t> sizes = {16, 24, 8};
  std::vector<float> squares(size_t(c.features * 48), 1e-4F);
  for (size_t k = size_t(c.features * 16); k < size_t(c.features * 40); ++k) squares[k] = 3e-4F;
  for (size_t k = size_t(c.features * 40); k < squares.size(); ++k) squares[k] = 2e-4F;
  const TableEntries entries = {
      .values = {}, .counts = {}, .squares = squares.data(), .features = c.features};
  EXPECT_EQ(AdaptiveTable(c, 1).order(entries, sizes), (std::vector<size_t>{0, 1, 2}));
  c.table_order = "gradient";
  EXPECT_EQ(AdaptiveTable(c, 1).order(entries, sizes), (std::vector<size_t>{1, 2, 0}));
}

TEST(AdaptiveTable, NeverBecomesDenseAndNeverLargerThanAFixedOne) {
  Config c = adaptive_config();
  c.log2_table = 14;
  const std::vector<int64_t> most = largest_table_sizes(c, 1), least = smallest_table_sizes(c, 1);
  const std::vector<float> scales = table_scales(c, 1);
  Config fixed = c;
  fixed.table = "fixed";
  const std::vector<int64_t> sizes = table_sizes(fixed, 1), first = table_sizes(c, 1);
  int changing = 0;
  for (size_t l = 0; l < most.size(); ++l) {
    EXPECT_LE(most[l], sizes[l]);
    EXPECT_LE(least[l], first[l]);
    EXPECT_LE(first[l], most[l]);
    if (least[l] == most[l]) continue;
    ++changing;
    EXPECT_FALSE(table_level(scales[l], most[l], 0).dense) << l;
    EXPECT_FALSE(table_level(scales[l], first[l], 0).dense) << l;
  }
  EXPECT_GT(changing, 0);
}

TEST(AdaptiveTable, ResetsOnlyIdleEntries) {
  Config c = adaptive_config();
  c.levels = 1;
  c.base_resolution = c.finest_resolution = 64;
  AdaptiveTable table(c, 1);
  std::vector<int64_t> sizes = table_sizes(c, 1);
  const int64_t n = sizes[0];
  std::vector<float> values(size_t(c.features * n), 2.0F);
  std::vector<int32_t> steps(size_t(n), 1);
  const TableEntries entries = {.values = {values.data()}, .counts = {steps.data()}, .features = c.features};
  table.note(entries, 4, sizes);
  for (int64_t e = 0; e < n / 3; ++e) steps[size_t(e)] = 2;
  EXPECT_EQ(table.adapt(entries, 8, sizes).recycled, 0);
  for (int64_t e = 0; e < n / 3; ++e) steps[size_t(e)] = 3;
  const TableChange change = table.adapt(entries, 16, sizes);  // 12 steps after the others moved last
  EXPECT_EQ(change.recycled, n - n / 3);
  EXPECT_EQ(sizes[0], n);
  for (int64_t e = 0; e < n; ++e) {
    ASSERT_EQ(values[size_t(c.features * e)], e < n / 3 ? 2.0F : 0.0F) << e;
    ASSERT_EQ(steps[size_t(e)], e < n / 3 ? 3 : 0) << e;
  }
}

/// A plan for a config.
Plan plan_for(const Config& c) {
  static CallTimes times = later_is_faster();
  return Plan::named("best", training_calls(c, 1), times);
}

TEST(AdaptiveTable, TrainsGrowsAndResumesToTheBit) {
  Config c = adaptive_config();
  c.log2_table = 14;
  c.table_crowded = 0.2;
  c.table_sparse = 0.05;
  const Plan plan = plan_for(c);
  Trainer whole(small_scene(), c, plan, 5), first(small_scene(), c, plan, 5),
      second(small_scene(), c, plan, 9);
  const std::vector<int64_t> sizes = whole.model().sizes;
  double loss = 0;
  for (int i = 0; i < 60; ++i) {
    const double now = whole.step(0).loss;
    if (i == 0) loss = now;
    if (i == 59) EXPECT_LT(now, 0.7 * loss);
  }
  EXPECT_NE(whole.model().sizes, sizes);
  EXPECT_LE(whole.model().entries_in_use(), whole.model().table_entries());
  EXPECT_NE(whole.table_news(), "");
  EXPECT_EQ(whole.table_news(), "") << "nothing new since";

  const TempFolder folder;
  const auto file = folder / "checkpoint.safetensors";
  for (int i = 0; i < 30; ++i) first.step(0);
  first.save(file, {});
  second.restore(TensorFile(file));
  for (int i = 30; i < 60; ++i) second.step(0);
  EXPECT_EQ(second.model().sizes, whole.model().sizes);
  const Array<float>&a = whole.model().of(Part::table), &b = second.model().of(Part::table);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
}

TEST(AdaptiveTable, RefusesInvalidLevelsOfAFile) {
  const Config c = adaptive_config();
  Model model(c, placement_of(small_scene(), false));
  const TempFolder folder;
  const auto file = folder / "model.safetensors";
  for (const int64_t size : {int64_t(0), int64_t(-8), int64_t(1) << 40, model.sizes[3] + 4}) {
    model.sizes[3] = size;
    model.save(file);
    try {
      Model::load(file);
      ADD_FAILURE() << size;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("table_sizes"), std::string::npos) << e.what();
    }
  }
}

TEST(LevelUse, MeasuringLevelsDoesNotChangeTraining) {
  for (const bool plain : {true, false}) {
    Config c = plain ? small_config() : adaptive_config();
    const Plan plan = plan_for(c);
    Trainer alone(small_scene(), c, plan, 5), watched(small_scene(), c, plan, 5);
    for (int i = 0; i < 12; ++i) {
      alone.step(0);
      watched.step(0);
      const std::vector<LevelUse> uses = watched.level_uses();
      ASSERT_EQ(int64_t(uses.size()), c.levels);
      for (const LevelUse& use : uses) {
        EXPECT_GT(use.points, 0);
        EXPECT_GE(use.points, use.touched);
        EXPECT_LE(use.touched, use.entries);
        EXPECT_GT(use.gradient, 0);
        EXPECT_GT(use.moved, 0);
        EXPECT_LE(use.moved, 1);
      }
    }
    const Array<float>&a = alone.model().of(Part::table), &b = watched.model().of(Part::table);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << plain;
  }
}

TEST(LevelUse, IsMeasuredOfABatchInPartsToo) {
  const Config c = small_config();
  const Plan plan = plan_for(c);
  const BatchShare halves = {.parts = 2, .first = 0, .own = 2}, half = {.parts = 2, .first = 0, .own = 1};
  Trainer alone(small_scene(), c, plan, 5, cpu_backend(), {}, nullptr, halves),
      watched(small_scene(), c, plan, 5, cpu_backend(), {}, nullptr, halves);
  for (int i = 0; i < 3; ++i) {
    alone.step(0);
    watched.step(0);
    const std::vector<LevelUse> uses = watched.level_uses();
    ASSERT_EQ(int64_t(uses.size()), c.levels);
    for (const LevelUse& use : uses) EXPECT_GT(use.gradient, 0);
  }
  const Array<float>&a = alone.model().of(Part::table), &b = watched.model().of(Part::table);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
  EXPECT_TRUE(Trainer(small_scene(), c, plan, 5, cpu_backend(), {}, nullptr, half).level_uses().empty());
}

TEST(LevelUse, CountsPointsEntriesAndUnsharedPoints) {
  // Two points of one cell and one of another, far away: 8 corners each; a table of 8 entries shares them.
  const std::vector<float> positions = {0.1F, 0.1F, 0.9F, 0.1F, 0.1F, 0.9F, 0.1F, 0.1F, 0.9F};
  const LevelUse large = level_use(table_level(100, 1 << 20, 0), 0, 0, positions.data(), 3, 3);
  EXPECT_EQ(large.points, 16);
  EXPECT_EQ(large.touched, 16);
  EXPECT_EQ(large.alone, 1);
  const LevelUse small = level_use(table_level(100, 8, 0), 0, 0, positions.data(), 3, 3);
  EXPECT_EQ(small.points, 16);
  EXPECT_LE(small.touched, 8);
  EXPECT_LT(small.alone, 0.5);
  const LevelUse nearest =
      level_use(table_level(100, 1 << 20, 0), 0, table_blend::nearest, positions.data(), 3, 3);
  EXPECT_EQ(nearest.points, 2);
}

/// Config words that the trainer knows; each makes a step with a finite loss and another one than the recipe's.
TEST(HashFunctions, EachTrains) {
  for (const auto& [hash, interpolation] :
       {std::pair{"morton", "linear"}, {"pcg", "smoothstep"}, {"tiled", "nearest"}}) {
    Config c = small_config();
    c.hash = hash;
    c.interpolation = interpolation;
    const Plan plan = plan_for(c);
    Trainer trainer(small_scene(), c, plan, 5);
    double first = 0, last = 0;
    for (int i = 0; i < 40; ++i) (i == 0 ? first : last) = trainer.step(0).loss;
    EXPECT_LT(last, 0.8 * first) << hash;
  }
}

TEST(HashFunctions, TheTablesRateIsAMultipleOfTheRate) {
  std::vector<float> moved;
  for (const double factor : {1.0, 4.0}) {
    Config c = small_config();
    c.table_rate = factor;
    Trainer trainer(small_scene(), c, small_plan(), 5);
    const Array<float>& table = trainer.model().of(Part::table);
    const std::vector<float> before(table.begin(), table.end());
    trainer.step(0);
    float most = 0;
    for (size_t i = 0; i < before.size(); ++i) most = std::max(most, std::abs(table[int64_t(i)] - before[i]));
    moved.push_back(most);
  }
  EXPECT_NEAR(moved[1] / moved[0], 4, 0.01) << "a first step of Adam is as long as its rate";
}

}  // namespace
}  // namespace klab
