// The benchmark, on variants that are wrong or cheating on purpose.
#include "harness/timing/bench.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <set>

#include "tests/timing/bench_ops.h"

namespace klab {
namespace {

TEST(Bench, EveryRoundTimesEveryVariant) {
  const Variant a = variant<Twice>("01_a", TwiceRun([](const auto& x) { right(x); }));
  const Variant b = variant<Twice>("02_b", TwiceRun([](const auto& x) { right(x); }));
  const Variant* list[] = {&a, &b};
  const Ladder l = bench(lab_op<Twice>(), {.name = "small", .shape = {1000}}, list, quick_options());
  ASSERT_EQ(l.series.size(), 2U);
  for (const Series& s : l.series) {
    EXPECT_EQ(s.wrong, "");
    EXPECT_EQ(s.skipped, "");
    EXPECT_EQ(s.seconds.size(), 4U);
    EXPECT_GE(s.iterations, 1);
    for (const double t : s.seconds) EXPECT_GT(t, 0);
  }
  EXPECT_EQ(l.series[0].variant, "twice.cpu.01_a");
  EXPECT_EQ(l.cost.bytes, 20000);
  EXPECT_EQ(l.cache, "hot");
  EXPECT_TRUE(l.complete);
}

TEST(Bench, WrongVariantsAreNamedAndNotTimed) {
  int calls = 0;
  const Variant good = variant<Only>("01_good", OnlyRun([](const auto& x) { right(x); }));
  const Variant bad = variant<Only>("02_bad", OnlyRun([&](const auto& x) {
                                      ++calls;
                                      right(x);
                                      x.c[7] += 1;
                                    }));
  const Variant* list[] = {&good, &bad};
  const Ladder l = bench(lab_op<Only>(), {.name = "small", .shape = {100}}, list, quick_options());
  EXPECT_EQ(l.series[0].seconds.size(), 4U);
  EXPECT_EQ(l.series[1].seconds.size(), 0U);
  EXPECT_NE(l.series[1].wrong.find("c[7]"), std::string::npos) << l.series[1].wrong;
  EXPECT_LT(calls, 100) << "it was timed";
}

TEST(Bench, AVariantThatStopsWorkingFails) {
  int calls = 0;
  const Variant v = variant<Only>("01_lazy", OnlyRun([&](const auto& x) {
                                    if (++calls < 60) right(x);
                                  }));
  const Ladder l = time_one(v);
  EXPECT_GT(calls, 60);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].wrong.find("after timing"), std::string::npos) << l.series[0].wrong;
}

TEST(Bench, AVariantThatDriftsWhileItIsTimedFails) {
  int calls = 0;
  const Variant v = variant<Only>("01_drift", OnlyRun([&](const auto& x) {
                                    right(x);
                                    if (++calls > 8) x.c[0] += 1e-3F * float(calls);
                                  }));
  const Ladder l = time_one(v);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].wrong.find("after timing"), std::string::npos) << l.series[0].wrong;
}

TEST(Bench, AVariantThatAccumulatesOnlyAtFirstFails) {
  int calls = 0;
  const Variant v = variant<Twice>("01_lazy", TwiceRun([&](const auto& x) {
                                     if (++calls < 60) return right(x);
                                     for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = 2 * x.a[i];
                                   }));
  const Variant* list[] = {&v};
  const Ladder l = bench(lab_op<Twice>(), {.name = "small", .shape = {100}}, list, quick_options());
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].wrong.find("after timing"), std::string::npos) << l.series[0].wrong;
}

TEST(Bench, ExceptionsAreReasonsNotCrashes) {
  int calls = 0;
  const Variant v = variant<Only>("01_throws", OnlyRun([&](const auto& x) {
                                    right(x);
                                    if (++calls > 40) throw std::runtime_error("out of luck");
                                  }));
  const Ladder l = time_one(v);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].wrong.find("out of luck"), std::string::npos) << l.series[0].wrong;
}

TEST(Bench, LargeShapesAreCheckedAtSmallerOnesWhenAskedTo) {
  const int64_t n = 1 << 12;  // 9 n of work
  for (const bool smaller : {false, true}) {
    std::set<int64_t> sizes;
    const Variant v = variant<Only>("01_a", OnlyRun([&](const auto& x) {
                                      right(x);
                                      sizes.insert(x.shape.n);
                                      if (x.shape.n <= n / 4) x.c[0] += 1;
                                    }));
    BenchOptions o = quick_options();
    if (smaller) o.check_work = 9.0 * double(n) / 4;
    const Variant* list[] = {&v};
    const Ladder l = bench(lab_op<Only>(), {.name = "large", .shape = {n}}, list, o);
    EXPECT_EQ(l.series[0].wrong.empty(), !smaller) << l.series[0].wrong;
    EXPECT_EQ(sizes.count(n / 4), smaller ? 1U : 0U);
    EXPECT_EQ(sizes.count(n), smaller ? 0U : 1U);
  }
}

TEST(Bench, AVariantThatCannotTakeTheSmallerShapeIsCheckedAtItsOwn) {
  const int64_t n = 1 << 12;
  Variant v = variant<Only>("01_large", OnlyRun([](const auto& x) {
                              right(x);
                              x.c[5] += 1;
                            }));
  v.supported = [](ShapeView s, const Host&) {
    return s[0] < n ? std::string("n is too small") : std::string();
  };
  BenchOptions o = quick_options();
  o.check_work = double(n);
  const Variant* list[] = {&v};
  const Ladder l = bench(lab_op<Only>(), {.name = "large", .shape = {n}}, list, o);
  EXPECT_NE(l.series[0].wrong.find("c[5]"), std::string::npos) << l.series[0].wrong;
}

TEST(Bench, UnsupportedShapesCarryTheReason) {
  Variant v = variant<Only>("01_even", OnlyRun([](const auto& x) { right(x); }));
  v.supported = [](ShapeView s, const Host&) {
    return s[0] % 2 ? std::string("n must be even") : std::string();
  };
  const Variant* list[] = {&v};
  const Ladder l = bench(lab_op<Only>(), {.name = "odd", .shape = {3}}, list, quick_options());
  EXPECT_EQ(l.series[0].skipped, "n must be even");
}

TEST(Bench, ThreadsAreSetAndRestored) {
  const int before = omp_get_max_threads();
  int seen = 0;
  const Variant v = variant<Only>("01_a", OnlyRun([&](const auto& x) {
                                    right(x);
                                    seen = omp_get_max_threads();
                                  }));
  BenchOptions o = quick_options();
  o.threads = before + 1;
  EXPECT_EQ(time_one(v, o).threads, before + 1);
  EXPECT_EQ(seen, before + 1);
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(Bench, StoppingKeepsFullRoundsOnly) {
  const Variant a = variant<Only>("01_a", OnlyRun([](const auto& x) { right(x); }));
  const Variant b = variant<Only>("02_b", OnlyRun([](const auto& x) { right(x); }));
  const Variant* list[] = {&a, &b};
  for (const int after : {1, 5, 9, 10, 11, 12}) {
    int asked = 0;
    BenchOptions o = quick_options();
    o.rounds = 50;
    o.stop = [&] { return ++asked > after; };
    const Ladder l = bench(lab_op<Only>(), {.name = "small", .shape = {100}}, list, o);
    EXPECT_FALSE(l.complete);
    EXPECT_LT(l.series[0].seconds.size(), 50U);
    if (l.series.size() == 2) EXPECT_EQ(l.series[0].seconds.size(), l.series[1].seconds.size()) << after;
  }
}

TEST(Bench, IllegalShapesAreErrors) {
  const Variant v = variant<Only>("01_a", OnlyRun([](const auto& x) { right(x); }));
  const Variant* list[] = {&v};
  EXPECT_THROW(bench(lab_op<Only>(), {.name = "none", .shape = {0}}, list, {}), std::invalid_argument);
  EXPECT_THROW(bench(lab_op<Only>(), {.name = "two", .shape = {1, 2}}, list, {}), std::invalid_argument);
  EXPECT_THROW(bench(lab_op<Only>(), {.name = "vast", .shape = {int64_t(1) << 50}}, list, {}),
               std::invalid_argument);
}

}  // namespace
}  // namespace klab
