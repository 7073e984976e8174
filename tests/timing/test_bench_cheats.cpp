// The benchmark, on variants that are right at every single call on fresh inputs, and quick because they keep results.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "tests/timing/bench_ops.h"

namespace klab {
namespace {

using Call = Only::Args<float>;

/// Timed along with a right one, whose result is the expected one.
std::string wrong_of(OnlyRun run, int64_t n = 20000, Cache cache = Cache::hot, double tries = 1) {
  const Variant good = variant<Only>("01_good", OnlyRun([](const auto& x) { right(x); }));
  const Variant cheat = variant<Only>("02_cheat", std::move(run));
  const Variant* list[] = {&good, &cheat};
  BenchOptions options = quick_options();
  options.tries = tries;
  const Ladder l = bench(lab_op<Only>(), {.name = "a size", .shape = {n}, .cache = cache}, list, options);
  EXPECT_EQ(l.series[0].wrong, "");
  EXPECT_FALSE(l.series[0].seconds.empty());
  EXPECT_EQ(l.series[1].wrong.empty(), !l.series[1].seconds.empty());
  return l.series[1].wrong;
}

/// As if the operation took long.
void slowly(const Call& x) {
  for (int again = 0; again < 20; ++again) right(x);
}

TEST(BenchCheats, ByPointer) {
  std::map<const float*, std::vector<float>> kept;
  EXPECT_NE(wrong_of(OnlyRun([&](const auto& x) {
              auto& mine = kept[x.a];
              if (mine.size() == size_t(x.shape.n)) {
                std::copy(mine.begin(), mine.end(), x.c);
                return;
              }
              slowly(x);
              mine.assign(x.c, x.c + x.shape.n);
            })),
            "");
}

TEST(BenchCheats, BySomeElements) {
  std::map<std::vector<float>, std::vector<float>> kept;
  EXPECT_NE(wrong_of(OnlyRun([&](const auto& x) {
              std::vector<float> digest;
              for (int64_t i = 0; i < x.shape.n; i += std::max<int64_t>(1, x.shape.n / 16))
                digest.push_back(x.a[i]);
              auto& mine = kept[digest];
              if (mine.size() == size_t(x.shape.n)) {
                std::copy(mine.begin(), mine.end(), x.c);
                return;
              }
              slowly(x);
              mine.assign(x.c, x.c + x.shape.n);
            })),
            "");
}

TEST(BenchCheats, ByTheNumberOfCalls) {
  int calls = 0;
  EXPECT_NE(wrong_of(OnlyRun([&](const auto& x) {
              if (++calls % 3 == 0 && calls > 4) return;
              right(x);
            })),
            "");
}

/// Right at every call, and no kernel: it returns the last answer, by whatever test it recognizes the input.
OnlyRun remembers_all_elements() {
  return OnlyRun([kept = std::map<uint64_t, std::vector<float>>()](const auto& x) mutable {
    uint64_t digest = uint64_t(x.shape.n);
    for (int64_t i = 0; i < x.shape.n; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, x.a + i, 4);
      digest = digest * 31 + bits;
    }
    auto& mine = kept[digest];
    if (mine.size() == size_t(x.shape.n)) {
      std::copy(mine.begin(), mine.end(), x.c);
      return;
    }
    slowly(x);
    mine.assign(x.c, x.c + x.shape.n);
  });
}

TEST(BenchCheats, ByAllElements) {
  const std::string wrong = wrong_of(remembers_all_elements());
  EXPECT_NE(wrong.find("not seen before"), std::string::npos) << wrong;
}

TEST(BenchCheats, ByAllElementsWithATenthOfTheTries) {
  const std::string wrong = wrong_of(remembers_all_elements(), 20000, Cache::hot, 0.1);
  EXPECT_NE(wrong.find("not seen before"), std::string::npos) << wrong;
}

TEST(BenchCheats, ColdCopiesHoldOneContentAtATimeToo) {
  std::vector<float> kept;
  EXPECT_NE(wrong_of(OnlyRun([&](const auto& x) {
                       if (kept.size() == size_t(x.shape.n)) {
                         std::copy(kept.begin(), kept.end(), x.c);
                         return;
                       }
                       right(x);
                       kept.assign(x.c, x.c + x.shape.n);
                     }),
                     200000, Cache::cold),
            "");
}

Ladder ladder_at(double times_the_ceiling) {
  Ladder l;
  l.op = "matmul";
  l.shape = {.name = "small", .shape = {64, 64, 64}};
  l.cost = {1e6, 1e6};
  l.ceiling = "fma f32";
  l.ceiling_work = 1e6;
  l.series = {{.variant = "matmul.cpu.01_naive"}, {.variant = "matmul.cpu.02_loop_order"}};
  for (int i = 0; i < 9; ++i) {
    l.ceiling_per_second.push_back(1e11);
    l.series[0].seconds.push_back(1e-3);
    l.series[1].seconds.push_back(1e-5 / times_the_ceiling);
  }
  return l;
}

TEST(Refused, RefusesTimesBelowTheWorkBound) {
  const auto rows = [](double times) { return rows_of(Lab{}, ladder_at(times), this_machine()); };
  const auto fast = rows(2);
  EXPECT_TRUE(is_refused(fast[1])) << fast[1].error;
  EXPECT_FALSE(fast[1].over_naive);
  EXPECT_FALSE(fast[1].over_parent);
  EXPECT_FALSE(is_refused(fast[0]));
  const auto right_at_it = rows(1.1);
  EXPECT_FALSE(is_refused(right_at_it[1])) << "a ceiling is measured, too, and noise is no fraud";
  EXPECT_TRUE(right_at_it[1].over_naive);
}

}  // namespace
}  // namespace klab
