// The verdict on whole labs, again and again: it must not cry wolf, and must find real changes. Every series
// is drawn from a fixed seed, so the result is always the same.
// ctest: sanitized
#include "harness/compare/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "harness/timing/statistics.h"

namespace klab {
namespace {

constexpr int kBase = 16;                           // sessions of a baseline
constexpr std::array<int, 3> kLooks = {8, 12, 16};  // sessions of a new run when it is judged
constexpr int kRounds = 5;
constexpr int kVariants = 40;  // compared in a lab

using Random = std::mt19937_64;

double normal(Random& random) { return std::normal_distribution<double>()(random); }
double uniform(Random& random) { return std::uniform_real_distribution<double>()(random); }

/// The sessions of two runs of one variant, one after the other, as log ratios to its anchor.
struct Runs {
  std::vector<double> base, fresh;
};

/// One way in which a machine disturbs measurements. `when` counts sessions over both runs.
struct World {
  const char* name;
  /// Draws the disturbance of one variant of one lab, and returns its addition to a round.
  std::function<std::function<double(int when, Random&)>(Random&)> begin;
};
void PrintTo(const World& world, std::ostream* out) { *out << world.name; }

double of_session(const std::function<double(int, Random&)>& noise, int when, double session,
                  Random& random) {
  std::array<double, kRounds> rounds{};
  for (double& r : rounds) r = session + noise(when, random);
  return pseudo_median(rounds);
}

Runs draw(const World& world, double change, Random& random) {
  const auto noise = world.begin(random);
  Runs runs;
  for (int i = 0; i < kBase; ++i) runs.base.push_back(of_session(noise, i, 0.004 * normal(random), random));
  for (int i = 0; i < kLooks.back(); ++i)
    runs.fresh.push_back(of_session(noise, kBase + i, change + 0.004 * normal(random), random));
  return runs;
}

/// Judges a lab as its new run grows; each variant keeps its first decided verdict.
std::vector<Verdict> verdicts(const std::vector<Runs>& lab) {
  std::vector<Verdict> result(lab.size(), Verdict::undecided);
  for (const int sessions : kLooks) {
    std::vector<LogRatios> comparisons;
    for (const Runs& r : lab) comparisons.push_back({r.base, {r.fresh.begin(), r.fresh.begin() + sessions}});
    const auto judged = judge(comparisons, {.looks = int(kLooks.size())});
    for (size_t i = 0; i < lab.size(); ++i)
      if (result[i] == Verdict::undecided) result[i] = judged[i].verdict;
  }
  return result;
}

const World kQuiet{"quiet", [](Random&) { return [](int, Random& r) { return 0.01 * normal(r); }; }};
const World kTails{"heavy tails", [](Random&) {
                     // Student's t with two degrees of freedom, and one round in twenty held up for long.
                     return [](int, Random& r) {
                       const double t = normal(r) / std::sqrt(std::max(1e-9, -std::log(uniform(r))));
                       return 0.008 * t + (uniform(r) < 0.05 ? 0.5 * uniform(r) : 0);
                     };
                   }};
const World kModes{"two modes", [](Random& begin) {
                     // A process keeps the mode it began with; rounds have two of their own.
                     const double share = uniform(begin), apart = 0.02 * uniform(begin);
                     return [=, session = -1, mode = 0.0](int when, Random& r) mutable {
                       if (when != session) mode = uniform(r) < share ? apart : 0;
                       session = when;
                       return mode + (uniform(r) < 0.3 ? 0.04 : 0) + 0.005 * normal(r);
                     };
                   }};
const World kDrift{"drift", [](Random& begin) {
                     // Goes on from the one run into the other.
                     const double slope = 0.02 * (2 * uniform(begin) - 1) / kBase;
                     return [=](int when, Random& r) { return slope * when + 0.008 * normal(r); };
                   }};
const World kSteps{
    "steps", [](Random& begin) {
      // In each run, at any time, one step of up to 6 % either way.
      const std::array<double, 2> at = {kBase * (0.25 + 0.5 * uniform(begin)),
                                        kBase * (1.25 + 0.5 * uniform(begin))};
      const std::array<double, 2> by = {0.12 * (uniform(begin) - 0.5), 0.12 * (uniform(begin) - 0.5)};
      const bool often = uniform(begin) < 0.3;  // not every variant has them
      return [=](int when, Random& r) {
        const size_t run = when < kBase ? 0 : 1;
        return (often && when >= at[run] ? by[run] : 0) + 0.008 * normal(r);
      };
    }};

class Worlds : public testing::TestWithParam<World> {};

TEST_P(Worlds, AtMostOneLabInAHundredAlarms) {
  constexpr int kLabs = 300;
  Random random(7);
  int alarms = 0;
  for (int lab = 0; lab < kLabs; ++lab) {
    std::vector<Runs> runs;
    for (int v = 0; v < kVariants; ++v) runs.push_back(draw(GetParam(), 0, random));
    const auto all = verdicts(runs);
    alarms += std::any_of(all.begin(), all.end(),
                          [](Verdict v) { return v == Verdict::slower || v == Verdict::faster; });
  }
  EXPECT_LE(alarms, kLabs / 100);
}

/// Share of planted changes that got the right verdict, among variants that did not change.
double found(const World& world, double factor, Verdict expected) {
  constexpr int kLabs = 60, kPlanted = 10;
  Random random(11);
  int count = 0;
  for (int lab = 0; lab < kLabs; ++lab) {
    std::vector<Runs> runs;
    for (int v = 0; v < kVariants; ++v)
      runs.push_back(draw(world, v < kPlanted ? std::log(factor) : 0, random));
    const auto all = verdicts(runs);
    count += int(std::count(all.begin(), all.begin() + kPlanted, expected));
  }
  return double(count) / kLabs / kPlanted;
}

TEST_P(Worlds, ATenPercentSlowdownIsFound) {
  const double share = found(GetParam(), 1.10, Verdict::slower);
  EXPECT_GE(share, 0.95);
}
TEST_P(Worlds, AFivePercentSlowdownIsMostlyFound) {
  const double share = found(GetParam(), 1.05, Verdict::slower);
  EXPECT_GE(share, 0.80);
}

// Everything at once, the way a shared machine is.
const World kAll{"all of it", [](Random& begin) {
                   const std::array parts = {kTails.begin(begin), kModes.begin(begin), kDrift.begin(begin)};
                   return [=](int when, Random& r) mutable {
                     double sum = 0;
                     for (auto& part : parts) sum += 0.6 * part(when, r);
                     return sum;
                   };
                 }};

INSTANTIATE_TEST_SUITE_P(Verdict, Worlds, testing::Values(kQuiet, kTails, kModes, kDrift, kSteps, kAll),
                         [](const auto& world) {
                           std::string name = world.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });
/// P(U <= u) by going through all ways to choose which m of m + n are the first set.
double counted_tail(int m, int n, int u) {
  int hits = 0, all = 0;
  for (unsigned choice = 0; choice < 1U << (m + n); ++choice) {
    if (std::popcount(choice) != m) continue;
    int pairs = 0, firsts = 0;
    for (int i = 0; i < m + n; ++i) (choice >> i & 1) != 0 ? void(++firsts) : void(pairs += firsts);
    ++all;
    hits += pairs <= u ? 1 : 0;
  }
  return double(hits) / all;
}

TEST(Shift, TheTailMatchesCounting) {
  for (const auto& [m, n] : {std::pair{1, 1}, {2, 2}, {1, 6}, {3, 5}, {5, 3}, {6, 6}})
    for (int u = -1; u <= m * n; ++u)
      EXPECT_NEAR(rank_tail(m, n, u), u < 0 ? 0 : counted_tail(m, n, u), 1e-12);
}

TEST(Shift, LargeSetsApproachTheNormalApproximation) {
  for (const double u : {3500.0, 4200.0, 5000.0})
    EXPECT_NEAR(rank_tail(100, 100, u), rank_tail(101, 100, u * 1.01), 0.1 * rank_tail(100, 100, u));
}

TEST(Shift, RecoversTheAddedShift) {
  const std::vector<double> base = {3, 1, 4, 1.5, 9, 2.6, 5, 3.5};
  std::vector<double> fresh = base;
  for (double& f : fresh) f += 10;
  const Shift s = shift_of(base, fresh, 0.1);
  EXPECT_DOUBLE_EQ(s.value, 10);
  EXPECT_LT(s.low, 10);
  EXPECT_GT(s.high, 10);
  EXPECT_DOUBLE_EQ(s.high - 10, 10 - s.low) << "the sets are alike";
  EXPECT_EQ(shift_of(fresh, base, 0.1).low, -s.high);
}

TEST(Shift, IntervalAndTestAgree) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> base(9), fresh(7);
    for (double& b : base) b = normal(random);
    for (double& f : fresh) f = 1 + normal(random);
    const Shift s = shift_of(base, fresh, 0.02);
    EXPECT_LE(p_above(base, fresh, s.low - 1e-9), 0.01);
    EXPECT_GT(p_above(base, fresh, s.low + 1e-9), 0.01);
  }
}

TEST(Shift, CoverageIsNominal) {
  Random random(5);
  int missed = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> base(8), fresh(8);
    for (double& b : base) b = std::exp(2 * normal(random));  // a long tail
    for (double& f : fresh) f = 3 + std::exp(2 * normal(random));
    const Shift s = shift_of(base, fresh, 0.05);
    missed += s.low <= 3 && 3 <= s.high ? 0 : 1;
  }
  EXPECT_LE(missed, kTrials * 0.06);
  EXPECT_GE(missed, kTrials * 0.02);
}

TEST(Shift, TooFewSamplesGiveNoBound) {
  const std::vector<double> two = {1, 2}, other = {5, 6};
  EXPECT_TRUE(std::isinf(shift_of(two, other, 0.01).low));
  EXPECT_THROW(shift_of({}, two, 0.1), std::invalid_argument);
  EXPECT_THROW(p_above(two, std::vector<double>{NAN}, 0), std::invalid_argument);
}

TEST(Judge, AnEmptyComparisonDoesNotPass) {
  EXPECT_THROW(judge({}), std::invalid_argument);
  EXPECT_THROW(judge(std::vector<LogRatios>{{{1, 2, 3}, {}}}), std::invalid_argument);
}

TEST(Judge, FewSessionsStayUndecided) {
  const std::vector<LogRatios> one = {{{0, 0.001, 0.002, 0.003}, {0.5, 0.501, 0.502, 0.503}}};
  EXPECT_EQ(judge(one)[0].verdict, Verdict::undecided);
  EXPECT_GT(sessions_needed(4, 1, {}), 4);
}

TEST(Judge, TheSameChangeIsHarderToProveAmongMany) {
  Random random(9);
  LogRatios changed;
  for (int i = 0; i < 8; ++i) changed.base.push_back(0.01 * normal(random));
  for (int i = 0; i < 7; ++i) changed.fresh.push_back(0.2 + 0.01 * normal(random));
  EXPECT_EQ(judge(std::vector{changed})[0].verdict, Verdict::slower);
  std::vector<LogRatios> many(400, changed);
  for (size_t i = 1; i < many.size(); ++i) many[i].fresh = many[i].base;
  EXPECT_EQ(judge(many)[0].verdict, Verdict::undecided);
}

TEST(Judge, ANoisyBaseWidensTheMargin) {
  LogRatios c;
  for (int i = 0; i < 16; ++i) {
    c.base.push_back(i < 8 ? 0 : 0.08);  // the binary against itself: 8 %
    c.fresh.push_back(0.10 + 0.001 * i);
  }
  const Judgement j = judge(std::vector{c})[0];
  EXPECT_NEAR(j.margin, 0.08, 1e-9);
  EXPECT_NE(j.verdict, Verdict::slower);
}

}  // namespace
}  // namespace klab
