// A classifier by several ranks, threads in the place of processes, next to one process that computes as many parts of its batch.
// Between processes: tests/cli/test_classify_ranks.sh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "labs/learning/train/trainer.h"
#include "tests/core/temp_folder.h"
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
    // One process adds the losses of its parts in floats, ranks add theirs in doubles.
    for (size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(rank.losses[i], one.losses[i], 0x1p-22 * one.losses[i]) << what;
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

/// Each rank holds some of the layers: the steps, the averages and the files are those of one process that has them all.
class SplitLayers : public ::testing::Test {
 protected:
  static TrainerSettings settings(bool split) {
    TrainerSettings s =
        settings_of_ranks("conv 4 5 stride 2, batchnorm, pool, dropout 0.2, conv 6 3, 20, 10");
    s.optimizer.clip = 0;
    s.accumulate = 3;
    s.split_layers = split;
    return s;
  }
  static void each_rank(int ranks, const std::function<void(int, const Carrier&)>& work) {
    CarrierThreads carriers(ranks);
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r) threads.emplace_back([&, r] { work(r, carriers.carrier(r)); });
  }
  static std::string bytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const Dataset data{"glyphs", make_glyphs(50, 1), make_glyphs(21, 2)};
  const TempFolder own;
  const std::filesystem::path folder = own.path();
};

TEST_F(SplitLayers, MakeTheStepsOfOneProcess) {
  Trainer one(data, settings(false));
  CallTimes none(std::vector<CallTime>{});
  one.use(Plan::named("naive", one.calls(), none));
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) losses.push_back(one.step());
  const Evaluation score = one.evaluate(data.test);
  one.save(folder / "one", {});
  const std::string expected = bytes(folder / "one");
  for (const int ranks : {2, 3}) {
    each_rank(ranks, [&](int rank, const Carrier& carrier) {
      Trainer part(data, settings(true), cpu_backend(), carrier);
      CallTimes nothing(std::vector<CallTime>{});
      part.use(Plan::named("naive", part.calls(), nothing));
      EXPECT_LT(part.network().parameters().count(), one.network().parameters().count());
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(part.step(), losses[i], 1e-12 * losses[i]);
      part.save(folder / "half", {});
      std::vector<float> written{1};
      carrier.sum(written);  // the first rank writes, and all read
      // Another trainer resumes in the middle.
      Trainer resumed(data, settings(true), cpu_backend(), carrier);
      resumed.use(Plan::named("naive", resumed.calls(), nothing));
      std::map<std::string, std::string> words;
      resumed.restore(folder / "half", words);
      for (size_t i = 2; i < 4; ++i) EXPECT_NEAR(resumed.step(), losses[i], 1e-12 * losses[i]);
      const Evaluation e = resumed.evaluate(data.test);
      EXPECT_EQ(e.predicted, score.predicted) << "rank " << rank;
      EXPECT_EQ(e.loss, score.loss);
      resumed.save(folder / "split", {});
    });
    EXPECT_TRUE(bytes(folder / "split") == expected) << ranks << " ranks";
  }
}

TEST_F(SplitLayers, GiveTheBusiestRankAsLittleWorkAsPossible) {
  const std::vector<LayerWork> work = {{1, 2, true}, {1, 2, false}, {1, 2, true}, {4, 8, true}};
  // The last rank computes its forward once, others twice: 4 | 3 + 3 + 12, 8 | 3 + 12, or 12 | 12.
  EXPECT_EQ(split_layers(work, 2), (std::vector<size_t>{0, 3, 4}));
  EXPECT_EQ(split_layers(work, 3), (std::vector<size_t>{0, 1, 3, 4}));
  EXPECT_EQ(split_layers(work, 1), (std::vector<size_t>{0, 4}));
  EXPECT_THROW(split_layers(work, 4), std::invalid_argument);
}

TEST_F(SplitLayers, RefuseWhatNeedsAllGradients) {
  const auto complaint = [&](const TrainerSettings& s, int ranks) -> std::string {
    CarrierThreads carriers(ranks);
    try {
      Trainer trainer(data, s, cpu_backend(), carriers.carrier(0));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  TrainerSettings s = settings(true);
  EXPECT_EQ(complaint(s, 1).find("--split-layers: this process is alone"), 0U);
  EXPECT_NE(complaint(s, 6).find("6 processes, and the network has 5 layers with weights"),
            std::string::npos);
  s.optimizer.clip = 1;
  EXPECT_EQ(complaint(s, 2).find("--split-layers: --clip"), 0U);
  s = settings(true);
  s.precision = Precision::bf16;
  EXPECT_EQ(complaint(s, 2).find("--split-layers: --precision bf16"), 0U);
  s = settings(true);
  s.recompute = 2;
  EXPECT_NE(complaint(s, 2).find("leave out --recompute"), std::string::npos);
}

}  // namespace
}  // namespace klab::learning
