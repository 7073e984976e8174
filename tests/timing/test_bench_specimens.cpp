// Variants that seem fast and are right at each single call, each next to an honest one that resembles it.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "harness/timing/bench.h"
#include "harness/timing/clock_guard.h"
#include "tests/timing/bench_ops.h"

namespace klab {
namespace {

BenchOptions many_rounds() {
  BenchOptions o = quick_options();
  o.rounds = 12;
  o.sample_seconds = 0.002;
  return o;
}

/// Times a specimen next to a right variant and returns the accusation. The right one must pass.
template <class Contract, class Run>
std::string accusation(Run run, int64_t n, Run good_run = Run([](const auto& x) { right(x); })) {
  const Variant good = variant<Contract>("01_good", std::move(good_run));
  const Variant specimen = variant<Contract>("02_specimen", std::move(run));
  const Variant* list[] = {&good, &specimen};
  const Ladder l = bench(lab_op<Contract>(), {.name = "a size", .shape = {n}}, list, many_rounds());
  EXPECT_EQ(l.series[0].wrong, "");
  EXPECT_EQ(l.series[1].wrong.empty(), !l.series[1].seconds.empty());
  return l.series[1].wrong;
}

std::vector<float> all_of(const float* p, int64_t n) { return {p, p + n}; }

/// One element as if it took long.
float twice_slowly(float a) {
  volatile float sum = 0;
  for (int k = 0; k < 8; ++k) sum = 2 * a;
  return sum;
}
void all_slowly(const Only::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = twice_slowly(x.a[i]);
}

TEST(BenchSpecimens, DoesNothingWhereItsStateIsAsItLeftIt) {
  for (const bool honest : {false, true}) {
    std::vector<float> left;
    const std::string wrong = accusation<Twice>(TwiceRun([&](const auto& x) {
                                                  const bool mine = left == all_of(x.d, x.shape.n);
                                                  for (int64_t i = 0; i < x.shape.n; ++i) {
                                                    x.c[i] = 2 * x.a[i];
                                                    if (!mine || honest) x.d[i] += x.a[i];
                                                  }
                                                  left = all_of(x.d, x.shape.n);
                                                }),
                                                500);
    EXPECT_EQ(wrong.empty(), honest) << wrong;
    if (!honest) EXPECT_NE(wrong.find("a state that it left itself"), std::string::npos) << wrong;
  }
}

TEST(BenchSpecimens, WorksOnItsStateEverySecondTime) {
  for (const bool honest : {false, true}) {
    std::vector<float> left;
    int calls = 0;
    const std::string wrong = accusation<Twice>(TwiceRun([&](const auto& x) {
                                                  const bool skip =
                                                      left == all_of(x.d, x.shape.n) && ++calls % 2 == 0;
                                                  for (int64_t i = 0; i < x.shape.n; ++i) {
                                                    x.c[i] = 2 * x.a[i];
                                                    if (!skip || honest) x.d[i] += x.a[i];
                                                  }
                                                  left = all_of(x.d, x.shape.n);
                                                }),
                                                500);
    EXPECT_EQ(wrong.empty(), honest) << wrong;
  }
}

/// d = max(d, a).
struct Most : Twice {
  static constexpr std::string_view name = "most";
  static void reference(const Twice::Args<double>& x, const Twice::Args<double>& m) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      m.c[i] = std::abs(x.c[i] = 2 * x.a[i]);
      m.d[i] = std::abs(x.d[i] = std::max(x.d[i], x.a[i]));
    }
  }
};

// A state that no call changes any more is no sign of it: the largest of what was there and what comes.
TEST(BenchSpecimens, AStateThatStaysByItselfIsHonest) {
  const TwiceRun most([](const auto& x) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      x.c[i] = 2 * x.a[i];
      x.d[i] = std::max(x.d[i], x.a[i]);
    }
  });
  EXPECT_EQ(accusation<Most>(most, 500, most), "");
}

TEST(BenchSpecimens, WorksOnEverySecondCall) {
  // It leaves alone what is no poison: between timed calls there is none.
  for (const bool honest : {false, true}) {
    int calls = 0;
    const std::string wrong = accusation<Only>(OnlyRun([&](const auto& x) {
                                                 if (!std::isnan(x.c[0]) && ++calls % 2 == 0 && !honest)
                                                   return;
                                                 all_slowly(x);
                                               }),
                                               20000);
    EXPECT_EQ(wrong.empty(), honest) << wrong;
  }
}

TEST(BenchSpecimens, RepeatsOnlyWhatChanged) {
  for (const bool honest : {false, true}) {
    std::vector<float> inputs, outputs;
    const std::string wrong = accusation<Only>(OnlyRun([&](const auto& x) {
                                                 const bool known =
                                                     inputs.size() == size_t(x.shape.n) && !honest;
                                                 if (!known)
                                                   inputs.assign(size_t(x.shape.n), NAN), outputs = inputs;
                                                 for (size_t i = 0; i < inputs.size(); ++i)
                                                   if (!(inputs[i] == x.a[i]))
                                                     outputs[i] = twice_slowly(inputs[i] = x.a[i]);
                                                 std::copy(outputs.begin(), outputs.end(), x.c);
                                               }),
                                               60000);
    EXPECT_EQ(wrong.empty(), honest) << wrong;
    if (!honest) EXPECT_NE(wrong.find("not seen before"), std::string::npos) << wrong;
  }
}

/// c = s * a with a short list of parameters, four of them in turn.
struct Scaled {
  static constexpr std::string_view name = "scaled";
  static constexpr std::array dims = {"n"};
  using Shape = Twice::Shape;
  template <class T>
  struct Args {
    Shape shape;
    const T* a;
    const T* s;
    T* c;
  };
  static void tensors(auto& args, auto&& visit) {
    visit("a", args.a, Role::input, Draw::real, {args.shape.n});
    visit("s", args.s, Role::input, Draw::real, {4});
    visit("c", args.c, Role::output, Draw::real, {args.shape.n});
  }
  static bool valid(const Shape& s) { return s.n >= 1; }
  static Cost cost(const Shape& s) { return {8.0 * double(s.n), double(s.n)}; }
  static double terms(const Shape&) { return 1; }
  static void reference(const Args<double>& x, const Args<double>& m) {
    for (int64_t i = 0; i < x.shape.n; ++i) m.c[i] = std::abs(x.c[i] = x.s[i % 4] * x.a[i]);
  }
};

// As a library that compiles a kernel for its parameters: what it keeps is no result.
TEST(BenchSpecimens, PreparingForParametersIsHonest) {
  std::map<std::vector<float>, float> prepared;
  const std::function<void(const Scaled::Args<float>&)> run = [&](const auto& x) {
    float& work = prepared[all_of(x.s, 4)];
    if (work == 0)
      for (int64_t i = 0; i < 40 * x.shape.n; ++i) work += twice_slowly(1);
    for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.s[i % 4] * x.a[i];
  };
  const std::function<void(const Scaled::Args<float>&)> plain = [](const auto& x) {
    for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.s[i % 4] * x.a[i];
  };
  EXPECT_EQ(accusation<Scaled>(run, 20000, plain), "");
}

TEST(BenchSpecimens, StartsAThreadThatSlowsItsRivals) {
  for (const bool honest : {false, true}) {
    std::atomic<bool> stop{false};
    std::thread late;
    int calls = 0;
    const Variant rival = variant<Only>("01_rival", OnlyRun([](const auto& x) { right(x); }));
    const Variant specimen = variant<Only>("02_specimen", OnlyRun([&](const auto& x) {
                                             right(x);
                                             if (++calls != 3000) return;
                                             late = std::thread([&] {
                                               while (!stop && !honest) continue;
                                             });
                                             if (honest) late.join();
                                           }));
    const Variant* list[] = {&rival, &specimen};
    const Ladder l = bench(lab_op<Only>(), {.name = "small", .shape = {1000}}, list, many_rounds());
    stop = true;
    if (late.joinable()) late.join();
    EXPECT_GT(calls, 3000);
    EXPECT_EQ(l.series[0].wrong, "");
    EXPECT_EQ(l.series[1].wrong.empty(), honest) << l.series[1].wrong;
    if (honest) {
      EXPECT_EQ(l.series[0].seconds.size(), 12U);
    } else {
      EXPECT_NE(l.series[1].wrong.find("still runs"), std::string::npos) << l.series[1].wrong;
      EXPECT_LT(l.series[0].seconds.size(), 12U) << "the rival was timed next to the thread";
      EXPECT_EQ(l.series[0].seconds.empty(), !l.series[0].skipped.empty());
    }
  }
}

TEST(BenchSpecimens, IsRightForRandomInputsOnlyAtTheTimedSize) {
  constexpr int64_t kTimed = 5000;
  const auto run = [](bool honest) {
    return OnlyRun([=](const auto& x) {
      for (int64_t i = 0; i < x.shape.n; ++i) {
        const bool usual = std::abs(x.a[i]) < 8 || x.shape.n != kTimed || honest;
        x.c[i] = usual ? 2 * x.a[i] : 16;
      }
    });
  };
  const std::string wrong = accusation<Only>(run(false), kTimed);
  EXPECT_NE(wrong.find("at the timed size"), std::string::npos) << wrong;
  EXPECT_EQ(accusation<Only>(run(true), kTimed), "");
  // Alone in its ladder, where nothing differs from it.
  const Variant alone = variant<Only>("01_alone", run(false));
  const Variant* list[] = {&alone};
  const Ladder l = bench(lab_op<Only>(), {.name = "a size", .shape = {kTimed}}, list, quick_options());
  EXPECT_NE(l.series[0].wrong.find("at the timed size"), std::string::npos) << l.series[0].wrong;
}

TEST(BenchSpecimens, RightVariantsAreNeverAccused) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Variant a = variant<Only>("01_a", OnlyRun([](const auto& x) { right(x); }));
    const Variant b = variant<Only>("02_b", OnlyRun([](const auto& x) { right(x); }));
    const Variant* list[] = {&a, &b};
    BenchOptions o = quick_options();
    o.seed = seed;
    const Ladder l = bench(lab_op<Only>(), {.name = "microseconds", .shape = {int64_t(500 * seed)}}, list, o);
    EXPECT_EQ(l.series[0].wrong, "") << seed;
    EXPECT_EQ(l.series[1].wrong, "") << seed;
  }
}

// The product of 8-bit integers by a library that prepares itself for the scales.
TEST(BenchSpecimens, TheProductOfALibraryIsNotAccused) {
  const LabOp* op = find_op("matmul_int8");
  ASSERT_NE(op, nullptr);
  std::vector<const Variant*> list;
  for (const Variant* v : variants_of("matmul_int8", "cpu"))
    if (v->peer || v->rung == "04_vnni") list.push_back(v);
  BenchOptions o = quick_options();
  o.check_work = 1e7;
  const Ladder l = bench(*op, {.name = "in L2", .shape = {512, 384, 1000}}, list, o);
  for (const Series& s : l.series) EXPECT_EQ(s.wrong, "") << s.variant;
}

TEST(BenchClock, ThisProgramsClockIsTheSystems) {
  EXPECT_EQ(replaced_clock(), "");
  const ClockGuard guard;
  EXPECT_NO_THROW(guard.verify());
}

TEST(BenchClock, OnlyAClockOfItsOwnRunsUnlike) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_TRUE(run_alike(kSecond, kSecond + kSecond / 200));
  EXPECT_TRUE(run_alike(1000, 900'000)) << "held up between two readings";
  EXPECT_FALSE(run_alike(kSecond / 2, kSecond));
  EXPECT_FALSE(run_alike(2 * kSecond, kSecond));
}

}  // namespace
}  // namespace klab
