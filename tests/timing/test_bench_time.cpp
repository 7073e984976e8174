// The benchmark's use of the time of calls, read from a clock that the calls themselves advance: nothing here
// depends on how busy the machine is.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/timing/bench_inputs.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/flush.h"
#include "harness/timing/machine.h"
#include "tests/timing/bench_ops.h"

namespace klab {
namespace {

TEST(BenchTime, MeasuresTheTimeOfACall) {
  FakeClock clock;
  const Variant v = variant<Only>("01_slow", OnlyRun([&](const auto& x) {
                                    right(x);
                                    clock.seconds += 0.003;
                                  }));
  BenchOptions o = clock.options();
  o.sample_seconds = 0.02;
  const Ladder l = time_one(v, o);
  EXPECT_EQ(l.series[0].iterations, 6) << "as many whole calls as fit in a sample";
  ASSERT_EQ(l.series[0].seconds.size(), 4U);
  for (const double t : l.series[0].seconds) EXPECT_NEAR(t, 0.003, 1e-9);
}

TEST(BenchTime, MeasuresEveryRoundSeparately) {
  FakeClock clock;
  double step = 0.001;
  const Variant v = variant<Only>("01_slower", OnlyRun([&](const auto& x) {
                                    right(x);
                                    clock.seconds += step;
                                  }));
  BenchOptions o = clock.options();
  o.progress = [&](const std::string&, int round, int) { step = 0.001 * (round + 1); };
  const Ladder l = time_one(v, o);
  ASSERT_EQ(l.series[0].seconds.size(), 4U);
  for (int round = 0; round < 4; ++round)
    EXPECT_NEAR(l.series[0].seconds[size_t(round)], 0.001 * (round + 1), 1e-9);
}

TEST(BenchTime, UsesTheMachinesClockByDefault) {
  const Variant v = variant<Only>("01_a", OnlyRun([](const auto& x) { right(x); }));
  for (const double t : time_one(v).series[0].seconds) EXPECT_GT(t, 0);
}

TEST(BenchTime, OrderIsRandomAndGivenBySeed) {
  const auto order_of = [](uint64_t seed) {
    FakeClock clock;
    std::string order;
    std::vector<Variant> variants;
    for (const char name : {'a', 'b', 'c', 'd'})
      variants.push_back(variant<Only>(std::string(1, name), OnlyRun([&clock, &order, name](const auto& x) {
                                         right(x);
                                         if (order.empty() || order.back() != name) order += name;
                                         clock.seconds += 0.001;
                                       })));
    std::vector<const Variant*> list;
    for (const Variant& v : variants) list.push_back(&v);
    BenchOptions o = clock.options();
    o.rounds = 8;
    o.check = false;
    o.seed = seed;
    bench(lab_op<Only>(), {.name = "small", .shape = {8}}, list, o);
    return order.substr(4);  // behind the calibration
  };
  const std::string one = order_of(1);
  EXPECT_EQ(one, order_of(1));
  EXPECT_NE(one, order_of(2));
  std::set<std::string> firsts;
  for (size_t i = 0; i + 4 <= one.size(); i += 4) firsts.insert(one.substr(i, 4));
  EXPECT_GT(firsts.size(), 2U) << one;
}

TEST(BenchTime, SkipsACallAboveTheCapWithAReason) {
  FakeClock clock;
  const Variant v = variant<Only>("01_slow", OnlyRun([&](const auto& x) {
                                    right(x);
                                    clock.seconds += 0.02;
                                  }));
  BenchOptions o = clock.options();
  o.call_cap_seconds = 0.01;
  const Ladder l = time_one(v, o);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_EQ(l.series[0].skipped, "one call takes 0.02 s; the cap is 0.01 s");
}

TEST(BenchTime, OneDelayedCallIsNoReasonToSkip) {
  for (const int64_t n : {int64_t(100), int64_t(1) << 20}) {  // timed at once; foretold from a smaller shape
    FakeClock clock;
    int calls = 0;
    const Variant v = variant<Only>("01_held_up", OnlyRun([&](const auto& x) {
                                      right(x);
                                      ++calls;
                                      clock.seconds +=
                                          (calls == 1 || calls == 2 ? 1 : 1e-3) * double(x.shape.n) * 1e-6;
                                    }));
    BenchOptions o = clock.options();
    o.check = false;
    o.call_cap_seconds = n == 100 ? 1e-5 : 0.02;
    const Variant* list[] = {&v};
    const Ladder l = bench(lab_op<Only>(), {.name = "held up", .shape = {n}}, list, o);
    EXPECT_EQ(l.series[0].skipped, "");
    EXPECT_EQ(l.series[0].seconds.size(), 4U);
  }
}

TEST(BenchTime, PredictsAndSkipsShapesThatTakeTooLong) {
  FakeClock clock;
  int64_t largest = 0;
  const Variant v = variant<Only>("01_slow", OnlyRun([&](const auto& x) {
                                    largest = std::max(largest, x.shape.n);
                                    right(x);
                                    clock.seconds += 1e-7 * double(x.shape.n);
                                  }));
  BenchOptions o = clock.options();
  o.call_cap_seconds = 0.02;
  const int64_t n = 1 << 20;
  const Variant* list[] = {&v};
  const Ladder l = bench(lab_op<Only>(), {.name = "large", .shape = {n}}, list, o);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].skipped.find("would take about 0.1 s"), std::string::npos) << l.series[0].skipped;
  EXPECT_LE(largest, n / 32);
}

TEST(BenchTime, FewerRoundsWhenTheyWouldTakeTooLong) {
  FakeClock clock;
  const Variant v = variant<Only>("01_slow", OnlyRun([&](const auto& x) {
                                    right(x);
                                    clock.seconds += 0.005;
                                  }));
  BenchOptions o = clock.options();
  o.rounds = 1000;
  for (const auto& [seconds, rounds] : {std::pair{0.001, 5U}, {0.1, 18U}, {100.0, 1000U}}) {
    o.ladder_seconds = seconds;  // a round takes 0.005 s and a sample of the ceiling
    EXPECT_EQ(time_one(v, o).series[0].seconds.size(), rounds) << seconds;
  }
  o.ladder_seconds = 0.001;
  o.fewest_rounds = 3;
  EXPECT_EQ(time_one(v, o).series[0].seconds.size(), 3U);
}

TEST(Cold, CopiesExceedTheCacheSeveralTimes) {
  constexpr int64_t mb = 1 << 20;
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 1000 * mb), 14);
  EXPECT_EQ(copies_for_cold(128 * mb, 32 * mb, 1000 * mb), 2);
  EXPECT_EQ(copies_for_cold(500 * mb, 32 * mb, 1000 * mb), 2)
      << "what is left of one call, the next would find";
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 55 * mb), 5) << "bounded by memory";
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 5 * mb), 1);
  EXPECT_EQ(copies_for_cold(0, 32 * mb, mb), 1);
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 1000 * mb, 2), 8);
}

TEST(Cold, NoCallUsesTheCopyOfTheCallBefore) {
  const float* before = nullptr;
  int calls = 0, again = 0;
  const auto watch = [&](const auto& x) {
    right(x);
    ++calls;
    again += x.a == before;
    before = x.a;
  };
  const Variant first = variant<Only>("01_a", OnlyRun(watch)), second = variant<Only>("02_b", OnlyRun(watch));
  const Variant* list[] = {&first, &second};
  // One copy fills the cache, where that is not larger than most are.
  const int64_t n = std::min<int64_t>(last_level_bytes(this_machine()), 64 << 20) / 8;
  BenchOptions o = quick_options();
  o.check = false;
  o.rounds = 9;
  o.cold_caches = 1;
  bench(lab_op<Only>(), {.name = "cold", .shape = {n}, .cache = Cache::cold}, list, o);
  EXPECT_GT(calls, 2 * o.rounds);
  EXPECT_LE(again, 2) << "the first call of each variant is its own";
}

TEST(Cold, CallsRotateAmongTheCopies) {
  std::set<const float*> seen;
  bool watching = false;
  const Variant v = variant<Only>("01_a", OnlyRun([&](const auto& x) {
                                    right(x);
                                    if (watching) seen.insert(x.a);
                                  }));
  const Variant* list[] = {&v};
  // A footprint of a quarter of the last-level cache, where that is not larger than most are.
  const int64_t n = std::min<int64_t>(last_level_bytes(this_machine()), 64 << 20) / 32;
  BenchOptions o = quick_options();
  o.check = false;
  o.cold_caches = 1;
  watching = true;
  const Ladder l = bench(lab_op<Only>(), {.name = "cold", .shape = {n}, .cache = Cache::cold}, list, o);
  const int64_t memory = std::min(free_memory() / 2, 8 * n + kMostColdBytes);
  const auto expected = size_t(copies_for_cold(8 * n, last_level_bytes(this_machine()), memory, 1));
  EXPECT_GE(seen.size(), std::min<size_t>(expected, 4));
  EXPECT_LE(seen.size(), expected + 1);
  EXPECT_EQ(l.cache.substr(0, 5), "cold:") << l.cache;
}

// Memory for copies that do not empty the cache: each is flushed and used once a sample, and the ladder says so.
TEST(Cold, FewCopiesAreFlushedAndUsedOnceASample) {
  const int64_t n = 1 << 14, footprint = 8 * n;
  for (const int64_t more : {int64_t(0), 3 * footprint}) {
    std::set<const float*> seen;
    const Variant v = variant<Only>("01_a", OnlyRun([&](const auto& x) {
                                      right(x);
                                      seen.insert(x.a);
                                    }));
    const Variant* list[] = {&v};
    BenchOptions o = quick_options();
    o.cold_bytes = more;
    const BenchShape shape{.name = "cold", .shape = {n}, .cache = Cache::cold};
    const Ladder l = bench(lab_op<Only>(), shape, list, o);
    const int64_t copies = 1 + more / footprint;
    EXPECT_EQ(l.series[0].wrong, "");
    EXPECT_FALSE(l.series[0].seconds.empty());
    EXPECT_GT(seen.size(), 0U);
    EXPECT_TRUE(l.cache.starts_with("cold: ")) << l.cache;
    EXPECT_NE(l.gave_up.find("last-level cache of"), std::string::npos) << l.gave_up;
    if (!can_flush()) {
      EXPECT_NE(l.cache.find("fewer than would empty the cache"), std::string::npos) << l.cache;
      continue;
    }
    EXPECT_LE(l.series[0].iterations, copies);
    EXPECT_NE(l.cache.find("flushed before each sample"), std::string::npos) << l.cache;
    EXPECT_NE(l.gave_up.find("flushed"), std::string::npos) << l.gave_up;
  }
}

// However large a cache is, what empties it has a bound.
TEST(Cold, CopiesStayWithinTheirMemory) {
  const LabOp op = lab_op<Only>();
  const int64_t n = 1 << 14, footprint = 8 * n;
  const std::vector<int64_t> shape = {n};
  for (const int64_t more : {int64_t(0), footprint, 5 * footprint}) {
    const BenchInputs inputs(op, shape, Cache::cold, 1, 1000, more);
    EXPECT_EQ(inputs.copies(), 1 + more / footprint);
    EXPECT_EQ(inputs.flushed(), can_flush());
    EXPECT_FALSE(inputs.gave_up().empty());
  }
  EXPECT_TRUE(BenchInputs(op, shape, Cache::hot, 1, 1000, 0).gave_up().empty());
}

}  // namespace
}  // namespace klab
