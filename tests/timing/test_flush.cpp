// Lines that are flushed come from memory when they are next read, and hold what they held.
// ctest: serial
#include "harness/timing/flush.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <vector>

namespace klab {
namespace {

constexpr size_t kLine = 16;     // uint32_t
constexpr size_t kLines = 2048;  // 128 KiB: in any second-level cache

/// A walk over all lines in an order of chance: each read waits for the one before.
std::vector<uint32_t> chain() {
  std::vector<uint32_t> order(kLines);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  std::vector<uint32_t> next(kLines * kLine);
  for (size_t i = 0; i < kLines; ++i) next[order[i] * kLine] = uint32_t(order[(i + 1) % kLines] * kLine);
  return next;
}

/// Seconds of the fastest of several walks.
template <class Before>
double walk(const std::vector<uint32_t>& next, Before before) {
  double fastest = 1e9;
  for (int attempt = 0; attempt < 15; ++attempt) {
    before();
    const auto begin = std::chrono::steady_clock::now();
    uint32_t at = 0;
    for (size_t i = 0; i < kLines; ++i) at = next[at];
    asm volatile("" : : "r"(at));
    fastest =
        std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return fastest;
}

TEST(Flush, ReadsComeFromMemoryAfterwards) {
  if (!can_flush()) GTEST_SKIP() << "this processor has no instruction that evicts a line";
  const std::vector<uint32_t> next = chain();
  const auto bytes = int64_t(next.size() * sizeof(uint32_t));
  const double hot = walk(next, [] {}), cold = walk(next, [&] { flush_from_caches(next.data(), bytes); });
  RecordProperty("hot_ns", std::to_string(1e9 * hot / kLines));
  RecordProperty("cold_ns", std::to_string(1e9 * cold / kLines));
  // Memory is ten times as far as the second cache; the rest is for other guests of the host.
  EXPECT_GT(cold, 3 * hot);
}

TEST(Flush, ContentsStayAndNeighborsAreLeftAlone) {
  std::vector<uint32_t> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0U);
  for (const size_t from : {size_t(0), size_t(1), size_t(13), size_t(1024)})
    for (const int64_t bytes : {int64_t(0), int64_t(1), int64_t(64), int64_t(4097), int64_t(200'000)})
      flush_from_caches(numbers.data() + from, bytes);
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
}

}  // namespace
}  // namespace klab
