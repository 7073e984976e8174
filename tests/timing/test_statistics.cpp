// The statistics of a timing, on series whose truth is known.
// ctest: sanitized
#include "harness/timing/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace klab {
namespace {

TEST(Median, MiddleOrMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median(std::vector<double>{3}), 3);
  EXPECT_EQ(median(std::vector<double>{3, 1}), 2);
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(std::vector<double>{5, 5, 5, 1, 9}), 5);
}

TEST(Median, ErrorsNameTheSample) {
  EXPECT_THROW(median(std::vector<double>{}), std::invalid_argument);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  try {
    median(std::vector<double>{1, 2, nan});
    FAIL() << "NaN was accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("sample 2"), std::string::npos) << e.what();
  }
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<double> v{4, 1, 3, 2, 5};
  EXPECT_EQ(quantile(v, 0), 1);
  EXPECT_EQ(quantile(v, 1), 5);
  EXPECT_EQ(quantile(v, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(v, 0.625), 3.5);
  EXPECT_THROW(quantile(v, 1.5), std::invalid_argument);
  EXPECT_THROW(quantile(v, std::nan("")), std::invalid_argument);
}

TEST(Times, ZeroNegativeAndNotFiniteAreErrors) {
  require_times(std::vector<double>{1e-9, 2});
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(require_times(std::vector<double>{1, bad}), std::invalid_argument) << bad;
    EXPECT_THROW(ratio_interval(std::vector<double>{1, bad}, std::vector<double>{1, 1}),
                 std::invalid_argument);
    EXPECT_THROW(ratio_interval(std::vector<double>{1, 1}, std::vector<double>{1, bad}),
                 std::invalid_argument);
  }
}

TEST(Interval, OneSampleCarriesNoConfidence) {
  const Estimate e = median_interval(std::vector<double>{7});
  EXPECT_EQ(e, (Estimate{7, 7, 7, 1, 0}));
}

TEST(Interval, FewSamplesGiveTheirRangeAndItsConfidence) {
  EXPECT_EQ(median_interval(std::vector<double>{2, 1}), (Estimate{1.5, 1, 2, 2, 0.5}));
  EXPECT_EQ(median_interval(std::vector<double>{5, 1, 2, 3, 4}), (Estimate{3, 1, 5, 5, 0.9375}));
  EXPECT_EQ(median_interval(std::vector<double>{5, 1, 2, 3, 4, 6}).confidence, 0.95);
}

TEST(Interval, EqualSamplesGiveAPoint) {
  const Estimate e = median_interval(std::vector<double>(15, 0.25));
  EXPECT_EQ(e.low, 0.25);
  EXPECT_EQ(e.high, 0.25);
}

TEST(Interval, DeterministicBySeed) {
  std::mt19937_64 g(3);
  std::vector<double> v(16);
  for (double& x : v) x = std::lognormal_distribution<double>(0, 0.3)(g);
  EXPECT_EQ(median_interval(v), median_interval(v));
  // Another seed resamples otherwise, which shows in an even number of samples.
  EXPECT_NE(median_interval(v, {.resamples = 50, .seed = 1}),
            median_interval(v, {.resamples = 50, .seed = 2}));
}

TEST(Interval, OneOutlierMovesItLittle) {
  std::vector<double> v;
  for (int i = 0; i < 15; ++i) v.push_back(1 + 0.001 * i);
  const Estimate calm = median_interval(v);
  v.back() = 1e6;
  const Estimate hit = median_interval(v);
  EXPECT_EQ(calm.value, hit.value);
  EXPECT_LE(hit.high, v[13]);
}

TEST(Interval, ScalesWithTheSamples) {
  std::mt19937_64 g(5);
  std::vector<double> v(21);
  for (double& x : v) x = std::lognormal_distribution<double>(0, 0.3)(g);
  std::vector<double> twice = v;
  for (double& x : twice) x *= 2;
  const Estimate a = median_interval(v), b = median_interval(twice);
  EXPECT_EQ(b.value, 2 * a.value);
  EXPECT_EQ(b.low, 2 * a.low);
  EXPECT_EQ(b.high, 2 * a.high);
}

struct Population {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
  double median;
};
void PrintTo(const Population& p, std::ostream* out) { *out << p.name; }

class Coverage : public testing::TestWithParam<Population> {};

// How often the interval holds the true median. An order-statistic interval can only take certain coverages,
// so "about" is a band: never clearly below the nominal 0.95, never so wide that it is useless. With 1500
// series the standard error of the count is 0.006.
TEST_P(Coverage, IsAboutNominal) {
  const Population& p = GetParam();
  std::mt19937_64 g(11);
  for (const int n : {6, 9, 15, 16, 31}) {
    const int trials = 1500;
    int covered = 0;
    for (int t = 0; t < trials; ++t) {
      std::vector<double> v(size_t(n), 0.0);
      for (double& x : v) x = p.draw(g);
      const Estimate e = median_interval(v, {.resamples = 500, .seed = uint64_t(t)});
      EXPECT_LE(e.low, e.value);
      EXPECT_LE(e.value, e.high);
      covered += e.low <= p.median && p.median <= e.high;
    }
    const double rate = double(covered) / trials;
    EXPECT_GE(rate, 0.93) << "n = " << n;
    EXPECT_LE(rate, 0.99) << "n = " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Populations, Coverage,
    testing::Values(
        Population{"normal", [](auto& g) { return std::normal_distribution<double>(10, 1)(g); }, 10},
        Population{"lognormal", [](auto& g) { return std::lognormal_distribution<double>(0, 0.5)(g); }, 1},
        Population{"one in ten hit by a tenfold pause",
                   [](auto& g) {
                     const bool hit = std::uniform_real_distribution<double>(0, 1)(g) < 0.1;
                     return std::normal_distribution<double>(10, 1)(g) + (hit ? 100 : 0);
                   },
                   // P(x <= m) = 0.9 Phi(m - 10) = 0.5, so m = 10 + Phi^-1(5/9).
                   10.139710}));

TEST(Ratio, DriftThatHitsBothSidesCancels) {
  // Times that double over the run, B always 1.25 times A, one percent noise: the ratio is known far better
  // than either time.
  std::mt19937_64 g(7);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<double> a, b;
  for (int i = 0; i < 15; ++i) {
    const double drift = 1 + i / 15.0;
    a.push_back(drift * noise(g));
    b.push_back(1.25 * drift * noise(g));
  }
  const Estimate ratio = ratio_interval(b, a), time = median_interval(a);
  EXPECT_LE(ratio.low, 1.25);
  EXPECT_GE(ratio.high, 1.25);
  EXPECT_LT((ratio.high - ratio.low) / ratio.value, 0.03);
  EXPECT_GT((time.high - time.low) / time.value, 0.2);
}

TEST(Ratio, DifferentLengthsAreAnError) {
  EXPECT_THROW(ratio_interval(std::vector<double>{1, 2}, std::vector<double>{1}), std::invalid_argument);
}

}  // namespace
}  // namespace klab
