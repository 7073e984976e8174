// Times of calls, by which plans are chosen: really measured, and with caches as a step leaves them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/program/call_times.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

// Between two lookups of a step everything else has used the caches: rungs that wait for a table well are the faster ones there.
TEST(CallTimes, TimesLookupsInTablesBeyondL2Cold) {
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
  const LabOp& op = *find_op("hashgrid_fwd");
  const int64_t alone = bytes_to_measure(op, large, 0);
  EXPECT_GE(bytes_to_measure(op, large) - alone, std::min(last_level_bytes(this_machine()), kMostColdBytes));
  EXPECT_LE(bytes_to_measure(op, large) - alone, kMostColdBytes) << "however large the last cache is";
  const auto variants = variants_of("hashgrid_fwd", "cpu");
  for (const double s : measure_calls("hashgrid_fwd", large, {&variants.back(), 1}).seconds) EXPECT_GT(s, 0);
}

// A plan is made on a server whose cache is larger than what may be spent: the operands' own lines are flushed.
TEST(CallTimes, ColdTimingNeedsNoMoreMemoryThanTheOperands) {
  const int64_t held = std::max<int64_t>(cache_bytes(this_machine(), 2), 1 << 20);
  int64_t bits = 10;
  while ((int64_t(8) << bits) < 2 * held) ++bits;
  const std::vector<int64_t> shape = {4096, 3, 16, 2, bits, 16, 512, 1};
  const auto variants = variants_of("hashgrid_fwd", "cpu");
  const auto measured = measure_calls("hashgrid_fwd", shape, {&variants.back(), 1}, 0);
  for (const double s : measured.seconds) EXPECT_GT(s, 0);
  if (cache_of_call(*find_op("hashgrid_fwd"), shape) == Cache::hot)
    GTEST_SKIP() << "the machine hides its second cache";
  EXPECT_NE(measured.gave_up.find("last-level cache"), std::string::npos) << measured.gave_up;

  std::vector<std::string> notes;
  CallTimes::Sources sources;
  sources.note = [&](const std::string& text) { notes.push_back(text); };
  CallTimes times(std::move(sources));
  times.limit_cold_copies(0);
  const PlannedCall call{"hashgrid_fwd", shape, "4096 samples"};
  const Variant* last = variants.back();
  EXPECT_EQ(times.fastest({&call, 1}, {&last, 1}).variant, last);
  EXPECT_EQ(std::ranges::count_if(
                notes, [](const std::string& n) { return n.find("timed cold:") != std::string::npos; }),
            1);
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
