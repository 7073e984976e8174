// Right variants of microseconds are timed three hundred times without an accusation.
// ctest: long
#include <gtest/gtest.h>

#include "harness/timing/bench.h"
#include "tests/timing/bench_ops.h"

namespace klab {
namespace {

template <class Contract>
int accused(int64_t n, uint64_t seed) {
  using Call = std::function<void(const typename Contract::template Args<float>&)>;
  const Variant a = variant<Contract>("01_a", Call([](const auto& x) { right(x); }));
  const Variant b = variant<Contract>("02_b", Call([](const auto& x) { right(x); }));
  const Variant* list[] = {&a, &b};
  BenchOptions options = quick_options();
  options.seed = seed;
  const Ladder ladder = bench(lab_op<Contract>(), {.name = "microseconds", .shape = {n}}, list, options);
  int count = 0;
  for (const Series& s : ladder.series) {
    EXPECT_EQ(s.wrong, "") << s.variant << " at n=" << n << ", seed " << seed;
    count += s.wrong.empty() ? 0 : 1;
  }
  return count;
}

// None of 300 bounds the rate at one in a hundred, with a confidence of 95 %.
TEST(BenchRight, ThreeHundredTimingsAccuseNoVariant) {
  int timed = 0, wrong = 0;
  for (uint64_t seed = 1; timed < 300; ++seed) {
    const int64_t n = 100 + 700 * int64_t(seed % 20);
    wrong += seed % 2 == 0 ? accused<Only>(n, seed) : accused<Twice>(n, seed);
    timed += 2;
  }
  EXPECT_EQ(timed, 300);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace klab
