// The rows of a timed ladder: speedups, shares of the ceiling, predictions, and skipped rungs.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/machine.h"
#include "harness/timing/statistics.h"
#include "tests/timing/bench_ops.h"

namespace klab {
namespace {

/// A ladder of the registered vector_add whose times are made up.
struct MadeUp {
  const Lab* lab = lab_of("vector_add");
  Ladder ladder;
  MadeUp() {
    const auto list = variants_of("vector_add", "cpu");
    ladder.op = "vector_add";
    ladder.shape = {.name = "made up", .shape = {1000}};
    ladder.cost = {12000, 1000};
    ladder.threads = 2;
    ladder.cache = "hot";
    double seconds = 8e-6;
    for (const Variant* v : list) {
      Series s{.variant = v->id, .iterations = 1};
      for (int round = 0; round < 9; ++round)
        s.seconds.push_back(seconds * (1 + round));  // drifts, for all alike
      ladder.series.push_back(s);
      seconds /= 2;
    }
    ladder.ceiling = "copy memory";
    ladder.ceiling_work = 12000;
    ladder.resources = {{"copy memory", 4e-6}, {"fma f32", 1e-7}};
    for (int round = 0; round < 9; ++round) ladder.ceiling_per_second.push_back(12000 / (4e-6 * (1 + round)));
  }
};

TEST(RowsOf, SpeedupsAreTakenWithinRounds) {
  const MadeUp m;
  const auto rows = rows_of(*m.lab, m.ladder, this_machine());
  ASSERT_GE(rows.size(), 2U);
  EXPECT_FALSE(rows[0].over_naive.has_value());
  ASSERT_TRUE(rows[1].over_naive.has_value());
  EXPECT_DOUBLE_EQ(rows[1].over_naive->low, 2);
  EXPECT_DOUBLE_EQ(rows[1].over_naive->high, 2);
  EXPECT_GT(rows[1].time.high / rows[1].time.low, 2);
  EXPECT_EQ(rows[0].shape, "n=1000");
  EXPECT_EQ(rows[0].lab, m.lab->id);
  EXPECT_EQ(rows[0].fingerprint, fingerprint(this_machine()));
}

TEST(RowsOf, RejectsSpeedAboveTheCeilingButNotAtIt) {
  const MadeUp m;
  const auto rows = rows_of(*m.lab, m.ladder, this_machine());
  EXPECT_DOUBLE_EQ(rows[0].of_ceiling->value, 0.5);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_DOUBLE_EQ(rows[1].of_ceiling->value, 1);
  EXPECT_EQ(rows[1].error, "");
  Ladder faster = m.ladder;
  for (double& t : faster.series[1].seconds) t /= 1.2;
  EXPECT_EQ(rows_of(*m.lab, faster, this_machine())[1].error, "above its ceiling: measurement error");
}

TEST(RowsOf, ARungInsideTheIntervalOfItsCeilingIsNotAboveIt) {
  // In most rounds the ceiling's sample was held up, in a few it was not: the interval of the ratio contains 1.
  MadeUp m;
  for (size_t i = 0; i < m.ladder.ceiling_per_second.size(); ++i)
    m.ladder.ceiling_per_second[i] *= i % 3 == 0 ? 1.02 : 0.9;
  const Row row = rows_of(*m.lab, m.ladder, this_machine())[1];
  EXPECT_GT(median(row.shares), 1.05);
  ASSERT_LT(median_interval(row.shares).low, 1);
  EXPECT_EQ(row.error, "");
  EXPECT_DOUBLE_EQ(row.of_ceiling->value, 1);
  EXPECT_LE(row.of_ceiling->low, 1);
  EXPECT_GE(row.of_ceiling->high, 1);
  // Inside the margin in every round.
  MadeUp close;
  for (double& rate : close.ladder.ceiling_per_second) rate *= 0.97;
  const Row near = rows_of(*close.lab, close.ladder, this_machine())[1];
  EXPECT_EQ(near.error, "");
  EXPECT_DOUBLE_EQ(near.of_ceiling->value, 1);
}

TEST(RowsOf, FarBelowEveryCeilingIsLatency) {
  MadeUp m;
  const auto text = [&] {
    const auto rows = rows_of(*m.lab, m.ladder, this_machine());
    std::vector<const Row*> list;
    for (const Row& r : rows) list.push_back(&r);
    EXPECT_EQ(no_limit_binds(list), !latency_text(list).empty());
    return latency_text(list);
  };
  EXPECT_EQ(text(), "") << "the fastest rung is near its ceiling";
  const size_t fastest = m.ladder.series.size() - 1;
  double share = 0.5;  // of the first rung, halved time by time
  for (size_t i = 0; i < fastest; ++i) share *= 2;
  m.ladder.ceiling_work *= 0.06 / share;
  EXPECT_EQ(text(), "no throughput limit binds: latency (the fastest rung has 6 % of copy memory)");
  const auto known = std::exchange(m.ladder.resources, {});
  EXPECT_EQ(text(), "") << "another resource may bind";
  m.ladder.resources = known;
  m.ladder.ceiling_work *= 0.11 / 0.06;
  EXPECT_EQ(text(), "");
  m.ladder.ceiling.clear();
  EXPECT_EQ(text(), "") << "nothing to compare with";
}

TEST(RowsOf, PredictionsAreJudgedByTheInterval) {
  MadeUp m;
  const Variant* v = find_variant("vector_add.cpu.02_simd");
  ASSERT_NE(v, nullptr);
  ASSERT_FALSE(v->expect.shape.empty());
  m.ladder.ceiling.clear();  // the times are made up: no ceiling refuses them
  const double asked = v->expect.over_parent;
  const auto verdict = [&](double factor, double noise) {
    m.ladder.shape.shape = v->expect.shape;
    const Series* parent = nullptr;
    for (Series& s : m.ladder.series)
      if (s.variant == v->parent) parent = &s;
    for (Series& s : m.ladder.series)
      if (s.variant == v->id)
        for (size_t i = 0; i < s.seconds.size(); ++i)
          s.seconds[i] = parent->seconds[i] / (asked * factor * (1 + noise * (double(i) - 4)));
    for (const Row& r : rows_of(*m.lab, m.ladder, this_machine()))
      if (r.variant == v->id) return r.verdict;
    return std::string("none");
  };
  EXPECT_EQ(verdict(1.5, 0.01), "held");
  EXPECT_EQ(verdict(0.5, 0.01), "not held");
  EXPECT_EQ(verdict(1.0, 0.02), "undecided");
  m.ladder.shape.shape = {v->expect.shape[0] + 1};
  for (const Row& r : rows_of(*m.lab, m.ladder, this_machine())) EXPECT_EQ(r.verdict, "") << "not its shape";
}

TEST(RowsOf, SkippedAndWrongKeepTheirReasons) {
  MadeUp m;
  m.ladder.series[0].seconds.clear();
  m.ladder.series[0].skipped = "too slow";
  m.ladder.series[1].seconds.clear();
  m.ladder.series[1].wrong = "wrong value in c[7]";
  const auto rows = rows_of(*m.lab, m.ladder, this_machine());
  EXPECT_EQ(rows[0].skipped, "too slow");
  EXPECT_EQ(rows[1].wrong, "wrong value in c[7]");
  EXPECT_TRUE(rows[1].seconds.empty());
}

}  // namespace
}  // namespace klab
