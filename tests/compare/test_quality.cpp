// The gate of quality: verdicts on pools of trainings, how often they are wrong, and how many trainings a loss needs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/compare/quality.h"

namespace klab {
namespace {

constexpr double kScatter = 0.1;  // dB, of a seed

/// Trainings with normal scatter around `mean` dB.
std::vector<QualityRun> pool_of(int runs, double mean, uint64_t seed, double scatter = kScatter) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, scatter);
  std::vector<QualityRun> pool(static_cast<size_t>(runs));
  for (size_t i = 0; i < pool.size(); ++i) pool[i] = {.seed = i + 1, .psnr = normal(random)};
  return pool;
}

std::string quality_error(const std::vector<QualityRun>& base, const std::vector<QualityRun>& fresh,
                          const QualityOptions& options = {}) {
  try {
    judge_quality(base, fresh, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Quality, FindsALossBeyondTheMargin) {
  const QualityResult r = judge_quality(pool_of(20, 30, 1), pool_of(20, 29.6, 2), {});
  EXPECT_EQ(r.psnr.verdict, QualityVerdict::worse);
  EXPECT_TRUE(r.worse());
  EXPECT_NEAR(r.psnr.change.value, -0.4, 0.1);
  EXPECT_LT(r.psnr.change.high, -0.05);
  EXPECT_FALSE(r.reach.has_value());
}

TEST(Quality, AGainIsNotALoss) {
  const QualityResult r = judge_quality(pool_of(20, 30, 1), pool_of(20, 30.4, 2), {});
  EXPECT_EQ(r.psnr.verdict, QualityVerdict::better);
  EXPECT_FALSE(r.worse());
}

TEST(Quality, EqualPoolsWithinAWideMarginAreSame) {
  const QualityResult r = judge_quality(pool_of(20, 30, 1), pool_of(20, 30, 2), {.margin = 0.3});
  EXPECT_EQ(r.psnr.verdict, QualityVerdict::same);
  EXPECT_TRUE(r.decided());
}

TEST(Quality, EqualPoolsWithinANarrowMarginAreUndecided) {
  const QualityResult r = judge_quality(pool_of(20, 30, 1), pool_of(20, 30, 2), {.margin = 0.01});
  EXPECT_EQ(r.psnr.verdict, QualityVerdict::undecided);
}

TEST(Quality, ALossWithinTheMarginIsNotWorse) {
  QualityTrials sum;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const QualityResult r =
        judge_quality(pool_of(20, 30, 2 * seed), pool_of(20, 29.9, 2 * seed + 1), {.margin = 0.1});
    sum.worse += r.worse() ? 1 : 0;
  }
  EXPECT_LE(sum.worse, 4) << "a loss at the margin may be called worse in 1 of 100 gates";
}

TEST(Quality, TooFewTrainingsDecideNothing) {
  const QualityResult r = judge_quality(pool_of(4, 30, 1), pool_of(4, 20, 2), {});
  EXPECT_EQ(r.psnr.verdict, QualityVerdict::undecided) << "4 and 4 can come in 70 orders only";
  EXPECT_TRUE(std::isinf(r.psnr.change.low));
}

TEST(Quality, ALengthThatIsNeverReachedIsWorse) {
  std::vector<QualityRun> base = pool_of(20, 30, 1), fresh = pool_of(20, 30, 2);
  for (QualityRun& run : base) run.reached = 100 + double(run.seed);
  for (QualityRun& run : fresh)
    run.reached = run.seed % 5 == 0 ? 105 : std::numeric_limits<double>::infinity();
  const QualityResult r = judge_quality(base, fresh, {});
  ASSERT_TRUE(r.reach.has_value());
  EXPECT_EQ(r.reach->verdict, QualityVerdict::worse);
  EXPECT_EQ(r.psnr.verdict, QualityVerdict::undecided);
  EXPECT_TRUE(r.worse());
}

TEST(Quality, AShorterLengthIsBetter) {
  std::vector<QualityRun> base = pool_of(20, 30, 1), fresh = pool_of(20, 30, 2);
  for (QualityRun& run : base) run.reached = 100 + double(run.seed);
  for (QualityRun& run : fresh) run.reached = 70 + double(run.seed);
  const QualityResult r = judge_quality(base, fresh, {});
  ASSERT_TRUE(r.reach.has_value());
  EXPECT_EQ(r.reach->verdict, QualityVerdict::better);
  EXPECT_NEAR(std::exp(-r.reach->change.value), 80.5 / 110.5, 0.05);
}

TEST(Quality, RefusesNumbersThatAreNotFinite) {
  std::vector<QualityRun> fresh = pool_of(8, 30, 2);
  fresh[3].psnr = std::nan("");
  EXPECT_EQ(quality_error(pool_of(8, 30, 1), fresh),
            "the new pool: the training with seed 4 has no finite PSNR or length");
  EXPECT_EQ(quality_error(pool_of(3, 30, 1), pool_of(8, 30, 2)),
            "the base has 3 trainings and needs at least 4");
  EXPECT_NE(quality_error(pool_of(8, 30, 1), pool_of(8, 30, 2), {.margin = -1}), "");
}

TEST(Quality, JudgesAtHalfThreeQuartersAndAll) {
  EXPECT_EQ(quality_looks(16), (std::vector<int>{8, 12, 16}));
  EXPECT_EQ(quality_looks(4), (std::vector<int>{4}));
  int used = 0;
  const QualityResult r = judge_growing(pool_of(16, 30, 1), pool_of(16, 28, 2), {}, &used);
  EXPECT_TRUE(r.worse());
  EXPECT_EQ(used, 8) << "a large loss is found at the first look";
}

// The rate of alarms holds over all looks together, at the default margin and at none.
TEST(Quality, AlarmsAreAsRareAsStated) {
  for (const double margin : {0.0, 0.05}) {
    int alarms = 0;
    constexpr int kTrials = 1000;
    for (uint64_t seed = 0; seed < kTrials; ++seed) {
      const QualityResult r =
          judge_growing(pool_of(16, 30, 2 * seed), pool_of(16, 30, 2 * seed + 1), {.margin = margin});
      alarms += r.psnr.verdict == QualityVerdict::worse || r.psnr.verdict == QualityVerdict::better ? 1 : 0;
    }
    EXPECT_LE(alarms, 20) << "margin " << margin
                          << ": 1 % is stated, and 20 of 1000 have a chance of 1 in 300";
  }
}

TEST(Quality, PredictsHowManyTrainingsALossNeeds) {
  const std::vector<QualityRun> pool = pool_of(40, 30, 7);
  const auto power = runs_needed(pool, 0.2, {}, 1);
  ASSERT_TRUE(power.has_value());
  EXPECT_GE(power->found, kFoundShare);
  EXPECT_LE(power->alarms, 0.02);
  // The prediction holds for trainings that it has not seen, and fewer of them find the loss less often.
  const auto found = [](int runs) {
    int worse = 0;
    for (uint64_t seed = 0; seed < 200; ++seed)
      worse +=
          judge_growing(pool_of(runs, 30, 5000 + 2 * seed), pool_of(runs, 29.8, 5001 + 2 * seed), {}).worse()
              ? 1
              : 0;
    return worse / 200.0;
  };
  EXPECT_GE(found(power->runs), 0.75);
  EXPECT_LE(found(power->runs / 2), 0.75);
  const auto easier = runs_needed(pool, 0.5, {}, 1);
  ASSERT_TRUE(easier.has_value());
  EXPECT_LT(easier->runs, power->runs);
  EXPECT_FALSE(runs_needed(pool, 0.01, {}, 1).has_value()) << "below the margin nothing is a loss";
}

TEST(Quality, TrialsNeedPoolsThatAreLargeEnough) {
  const std::vector<QualityRun> pool = pool_of(30, 30, 1);
  EXPECT_THROW(quality_trials(pool, {}, 16, 5, {}, 1), std::invalid_argument);
  const QualityTrials t = quality_trials(pool, {}, 15, 20, {}, 1);
  EXPECT_EQ(t.trials, 20);
  EXPECT_EQ(t.worse + t.better + t.same + t.undecided, 20);
  EXPECT_EQ(quality_trials(pool, pool_of(30, 29, 2), 15, 20, {}, 1).worse, 20);
}

}  // namespace
}  // namespace klab
