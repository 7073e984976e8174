// A classifier by several ranks, threads in the place of processes, next to one process that computes as many parts of its batch.
// Between processes: tests/cli/test_classify_ranks.sh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

#include "labs/learning/train/trainer.h"
#include "tests/radiance/thread_carrier.h"

namespace klab::learning {
namespace {

/// What a trainer has and says after some steps.
struct RankAfter {
  std::vector<double> losses;
  std::vector<float> weights, running;
  Evaluation score;
};

RankAfter after_steps(const Dataset& data, const TrainerSettings& settings, int steps,
                      const Carrier& carrier) {
  Trainer trainer(data, settings, cpu_backend(), carrier);
  CallTimes none(std::vector<CallTime>{});
  trainer.use(Plan::named("naive", trainer.calls(), none));
  RankAfter after;
  for (int i = 0; i < steps; ++i) after.losses.push_back(trainer.step());
  after.score = trainer.evaluate(data.test);
  for (const Tensor& t : trainer.network().parameters().tensors())
    after.weights.insert(after.weights.end(), t.value, t.value + t.size());
  for (const Kept& k : trainer.network().kept())
    after.running.insert(after.running.end(), k.values, k.values + volume(k.dims));
  return after;
}

std::vector<RankAfter> by_ranks(const Dataset& data, const TrainerSettings& settings, int steps, int ranks) {
  CarrierThreads carriers(ranks);
  std::vector<RankAfter> all(static_cast<size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back(
          [&, r] { all[size_t(r)] = after_steps(data, settings, steps, carriers.carrier(r)); });
  }
  return all;
}

TrainerSettings settings_of_ranks(const std::string& model) {
  TrainerSettings s;
  s.model = model;
  s.loader = {.batch = 12, .degrees = 10, .shift = 2};
  s.optimizer.clip = 0.5;
  s.epochs = 2;
  return s;
}

void expect_alike(const std::vector<RankAfter>& ranks, const RankAfter& one, const std::string& what) {
  for (const RankAfter& rank : ranks) {
    EXPECT_EQ(rank.weights, one.weights) << what;
    EXPECT_EQ(rank.losses, ranks.front().losses) << what;
    EXPECT_EQ(rank.running, ranks.front().running) << what;
    ASSERT_EQ(rank.losses.size(), one.losses.size());
    // One process adds the losses of its parts in another order than ranks that have several.
    for (size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(rank.losses[i], one.losses[i], 1e-12 * one.losses[i]) << what;
    EXPECT_EQ(rank.score.loss, ranks.front().score.loss) << what;
    EXPECT_EQ(rank.score.predicted, ranks.front().score.predicted) << what;
  }
}

TEST(RankSteps, AreThoseOfOneProcessWithAsManyParts) {
  const Dataset data{"glyphs", make_glyphs(50, 1), make_glyphs(21, 2)};
  for (const auto& [ranks, parts] : {std::pair{2, 1}, std::pair{3, 1}, std::pair{3, 2}}) {
    TrainerSettings s = settings_of_ranks("mlp");
    s.accumulate = ranks * parts;
    const RankAfter one = after_steps(data, s, 5, {});
    s.accumulate = parts;
    const auto several = by_ranks(data, s, 5, ranks);
    if (parts == 1) expect_alike(several, one, std::to_string(ranks) + " ranks");
    // Two sums of two are not one sum of four: the bits may differ, by the roundings of a sum.
    if (parts > 1)
      for (size_t i = 0; i < one.losses.size(); ++i)
        EXPECT_NEAR(several[0].losses[i], one.losses[i], 1e-4 * one.losses[i]);
    EXPECT_EQ(several[0].score.predicted.size(), 21U);
    EXPECT_EQ(several[0].score.right, one.score.right);
    EXPECT_NEAR(several[0].score.loss, one.score.loss, 1e-4 * one.score.loss);
  }
}

TEST(RankSteps, ScaleAndSkipTogetherInSixteenBits) {
  const Dataset data{"glyphs", make_glyphs(50, 1), make_glyphs(8, 2)};
  TrainerSettings s = settings_of_ranks("mlp");
  s.precision = Precision::f16;
  s.loss_scale.start = 0x1p30;  // the first steps overflow
  s.accumulate = 2;
  const RankAfter one = after_steps(data, s, 8, {});
  s.accumulate = 1;
  expect_alike(by_ranks(data, s, 8, 2), one, "f16");
}

/// Statistics of a batch see a rank's part only, so the running averages are the mean of the ranks'.
TEST(RankSteps, AverageRunningStatistics) {
  const Dataset data{"glyphs", make_glyphs(50, 1), make_glyphs(8, 2)};
  TrainerSettings s = settings_of_ranks("conv 3 5 stride 2, batchnorm, pool, dropout 0.2, 10");
  s.accumulate = 2;
  const RankAfter one = after_steps(data, s, 4, {});
  s.accumulate = 1;
  const auto two = by_ranks(data, s, 4, 2);
  expect_alike(two, one, "convolutions");
  ASSERT_EQ(two[0].running.size(), 6U);
  // One process averages twice a step. Both averages weigh the same statistics, the ranks' with half the decay: they agree in sign and
  // size, not in bits.
  for (size_t i = 3; i < 6; ++i) EXPECT_TRUE(two[0].running[i] > 0 && std::isfinite(two[0].running[i]));
  EXPECT_NE(two[0].running, std::vector<float>(6, 0.0F));
}

TEST(RankSteps, RefusesABatchThatRanksDoNotDivide) {
  const Dataset data{"glyphs", make_glyphs(50, 1), make_glyphs(8, 2)};
  CarrierThreads carriers(5);
  try {
    Trainer trainer(data, settings_of_ranks("mlp"), cpu_backend(), carriers.carrier(0));
    FAIL() << "12 examples for 5 ranks";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("--batch 12: 5 processes with one part each need a multiple of 5"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace klab::learning
