// The benchmark, on variants that are slow, wrong or cheating on purpose.
// ctest: serial
#include "harness/bench.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <chrono>
#include <set>
#include <thread>

#include "harness/bench_inputs.h"
#include "harness/ceilings.h"
#include "harness/machine.h"
#include "harness/rows.h"

namespace klab {
namespace {

/// c = 2a. `d` is there to have a tensor that is added to: d += a.
struct Twice {
  static constexpr std::string_view name = "twice";
  static constexpr std::array dims = {"n"};
  struct Shape {
    int64_t n;
  };
  template <class T>
  struct Args {
    Shape shape;
    const T* a;
    T* c;
    T* d;
  };
  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("a", args.a, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {n});
    visit("d", args.d, Role::accumulate, Draw::real, {n});
  }
  static bool valid(const Shape& s) { return s.n >= 1; }
  static Cost cost(const Shape& s) { return {20.0 * double(s.n), 2 * double(s.n)}; }
  static double terms(const Shape&) { return 1; }
  static void reference(const Args<double>& x, const Args<double>& m) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      x.c[i] = 2 * x.a[i];
      m.c[i] = 2 * std::abs(x.a[i]);
      m.d[i] = std::abs(x.d[i]) + std::abs(x.a[i]);
      x.d[i] += x.a[i];
    }
  }
};

/// The same without the accumulated tensor.
struct Only {
  static constexpr std::string_view name = "only";
  static constexpr std::array dims = {"n"};
  using Shape = Twice::Shape;
  template <class T>
  struct Args {
    Shape shape;
    const T* a;
    T* c;
  };
  static void tensors(auto& args, auto&& visit) {
    visit("a", args.a, Role::input, Draw::real, {args.shape.n});
    visit("c", args.c, Role::output, Draw::real, {args.shape.n});
  }
  static bool valid(const Shape& s) { return s.n >= 1; }
  static Cost cost(const Shape& s) { return {8.0 * double(s.n), double(s.n)}; }
  static double terms(const Shape&) { return 1; }
  static void reference(const Args<double>& x, const Args<double>& m) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      x.c[i] = 2 * x.a[i];
      m.c[i] = 2 * std::abs(x.a[i]);
    }
  }
};

using TwiceRun = std::function<void(const Twice::Args<float>&)>;
using OnlyRun = std::function<void(const Only::Args<float>&)>;

void right(const Twice::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.c[i] = 2 * x.a[i];
    x.d[i] += x.a[i];
  }
}
void right(const Only::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = 2 * x.a[i];
}

template <class Contract, class Run>
Variant variant(const std::string& rung, Run run) {
  Variant v;
  v.op = Contract::name;
  v.backend = "cpu";
  v.rung = rung;
  v.id = v.op + ".cpu." + rung;
  v.supported = [](ShapeView, const Host&) { return std::string(); };
  v.bind = [run](ShapeView shape, std::span<void* const> pointers) -> std::function<void()> {
    return [run, args = args_of<Contract, float>(shape, pointers)] { run(args); };
  };
  return v;
}

template <class Contract>
LabOp lab_op() {
  LabOp op;
  op.op = make_op<Contract>();
  op.check = {{1, 2, 3}};
  return op;
}

BenchOptions quick_options() {
  BenchOptions o;
  o.rounds = 4;
  o.sample_seconds = 0.0005;
  return o;
}

Ladder time_one(const Variant& v, const BenchOptions& options = quick_options()) {
  const Variant* list[] = {&v};
  return bench(lab_op<Only>(), {.name = "small", .shape = {100}}, list, options);
}

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

TEST(Bench, MeasuresWhatACallTakes) {
  const Variant v = variant<Only>("01_sleep", OnlyRun([](const auto& x) {
                                    right(x);
                                    std::this_thread::sleep_for(std::chrono::milliseconds(3));
                                  }));
  BenchOptions o = quick_options();
  o.sample_seconds = 0.02;
  const Ladder l = time_one(v, o);
  EXPECT_GE(l.series[0].iterations, 1);
  EXPECT_LE(l.series[0].iterations, 6);
  for (const double t : l.series[0].seconds) EXPECT_GE(t, 0.003);
  EXPECT_LT(median(l.series[0].seconds), 0.05);
}

TEST(Bench, OrderIsRandomAndGivenBySeed) {
  const auto order_of = [](uint64_t seed) {
    std::string order;
    std::vector<Variant> variants;
    for (const char name : {'a', 'b', 'c', 'd'})
      variants.push_back(variant<Only>(std::string(1, name), OnlyRun([&order, name](const auto& x) {
                                         right(x);
                                         if (order.empty() || order.back() != name) order += name;
                                         std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                       })));
    std::vector<const Variant*> list;
    for (const Variant& v : variants) list.push_back(&v);
    BenchOptions o = quick_options();
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

TEST(Bench, OneCallAboveTheCapIsSkippedInWords) {
  const Variant v = variant<Only>("01_slow", OnlyRun([](const auto& x) {
                                    right(x);
                                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                  }));
  BenchOptions o = quick_options();
  o.call_cap_seconds = 0.01;
  const Ladder l = time_one(v, o);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].skipped.find("one call takes 0.02"), std::string::npos) << l.series[0].skipped;
}

TEST(Bench, WhatWouldTakeTooLongIsForetoldAndNotTried) {
  int64_t largest = 0;
  const Variant v = variant<Only>("01_slow", OnlyRun([&](const auto& x) {
                                    largest = std::max(largest, x.shape.n);
                                    right(x);
                                    std::this_thread::sleep_for(std::chrono::microseconds(x.shape.n / 10));
                                  }));
  BenchOptions o = quick_options();
  o.call_cap_seconds = 0.02;
  const int64_t n = 1 << 20;
  const Variant* list[] = {&v};
  const Ladder l = bench(lab_op<Only>(), {.name = "large", .shape = {n}}, list, o);
  EXPECT_TRUE(l.series[0].seconds.empty());
  EXPECT_NE(l.series[0].skipped.find("would take about"), std::string::npos) << l.series[0].skipped;
  EXPECT_LE(largest, n / 32);
}

TEST(Bench, FewerRoundsWhenTheyWouldTakeTooLong) {
  const Variant v = variant<Only>("01_slow", OnlyRun([](const auto& x) {
                                    right(x);
                                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                  }));
  BenchOptions o = quick_options();
  o.rounds = 1000;
  o.ladder_seconds = 0.05;
  const size_t rounds = time_one(v, o).series[0].seconds.size();
  EXPECT_GE(rounds, 5U);
  EXPECT_LE(rounds, 10U);
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

TEST(Cold, CopiesExceedTheCacheSeveralTimes) {
  constexpr int64_t mb = 1 << 20;
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 1000 * mb), 13);
  EXPECT_EQ(copies_for_cold(128 * mb, 32 * mb, 1000 * mb), 1);
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 55 * mb), 5) << "bounded by memory";
  EXPECT_EQ(copies_for_cold(10 * mb, 32 * mb, 5 * mb), 1);
  EXPECT_EQ(copies_for_cold(0, 32 * mb, mb), 1);
}

TEST(Cold, CallsRotateAmongTheCopies) {
  std::set<const float*> seen;
  bool watching = false;
  const Variant v = variant<Only>("01_a", OnlyRun([&](const auto& x) {
                                    right(x);
                                    if (watching) seen.insert(x.a);
                                  }));
  const Variant* list[] = {&v};
  const int64_t n = last_level_bytes(this_machine()) / 8;  // a footprint of one last-level cache
  BenchOptions o = quick_options();
  o.check = false;
  o.sample_seconds = 0.05;
  watching = true;
  const Ladder l = bench(lab_op<Only>(), {.name = "cold", .shape = {n}, .cache = Cache::cold}, list, o);
  const size_t expected = size_t(copies_for_cold(8 * n, last_level_bytes(this_machine()), free_memory() / 2));
  EXPECT_GE(seen.size(), std::min<size_t>(expected, 4));
  EXPECT_LE(seen.size(), expected + 1);
  EXPECT_EQ(l.cache.substr(0, 5), "cold:") << l.cache;
}

}  // namespace
}  // namespace klab
