// Times of calls, by which plans are chosen: really measured, and with caches as a step leaves them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/program/call_times.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

// Between two lookups of a step everything else has used the caches: rungs that wait for a table well are the faster ones there.
TEST(CallTimes, LookupsInTablesThatL2DoesNotHoldAreTimedCold) {
  const int64_t held = cache_bytes(this_machine(), 2);
  if (held == 0) GTEST_SKIP() << "the machine hides its second cache";
  const auto cache = [](const char* op, const std::vector<int64_t>& shape) {
    return cache_of_call(*find_op(op), shape);
  };
  int64_t bits = 10;
  while ((int64_t(8) << bits) < 2 * held) ++bits;
  const std::vector<int64_t> large = {4096, 3, 16, 2, bits, 16, 512, 1}, small = {4096, 3, 2, 2, 8, 4, 8, 1};
  EXPECT_EQ(cache("hashgrid_fwd", large), Cache::cold);
  EXPECT_EQ(cache("hashgrid_fwd", small), Cache::hot);
  // Sixteen levels, of which each takes half of the cache: one fits, all that a step uses in turn do not.
  EXPECT_EQ(cache("hashtable_bwd", {4096, 16, 2, held / 8 * 8, 0, 0, 1}), Cache::cold);
  EXPECT_EQ(cache("hashtable_bwd", {4096, 16, 2, held / 16 / 8 * 8, 0, 0, 1}), Cache::hot);
  EXPECT_EQ(cache("mlp_fwd", {1 << 15, 32, 64, 2, 3, 1}), Cache::hot);
  EXPECT_GE(bytes_to_measure(*find_op("hashgrid_fwd"), large), last_level_bytes(this_machine()));
  const auto variants = variants_of("hashgrid_fwd", "cpu");
  for (const double s : measure_calls("hashgrid_fwd", large, {&variants.back(), 1}).seconds) EXPECT_GT(s, 0);
}

TEST(CallTimes, ARealMeasurementTimesTheFastest) {
  const auto variants = variants_of("mlp_fwd", "cpu");
  std::vector<const Variant*> two = {variants.front(), find_variant("mlp_fwd.cpu.04_fused_tile")};
  if (two[1] == nullptr) two[1] = variants[variants.size() / 2];
  const auto seconds = measure_calls("mlp_fwd", {2048, 32, 64, 1, 16, 0}, two).seconds;
  ASSERT_EQ(seconds.size(), 2U);
  for (const double s : seconds) EXPECT_GT(s, 0);
  EXPECT_TRUE(std::isfinite(*std::ranges::min_element(seconds)));
}

}  // namespace
}  // namespace klab
