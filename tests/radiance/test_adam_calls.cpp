// The optimizer's calls for a plan: how many parameters a call has, and how many of them have no gradient.
#include <gtest/gtest.h>

#include <algorithm>

#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/trainer.h"

namespace klab {
namespace {

// n, group, zero_percent
std::vector<int64_t> dims_of_table(const std::vector<PlannedCall>& calls, int64_t group) {
  for (const PlannedCall& call : calls)
    if (call.op == "adam" && call.shape[1] == group) return call.shape;
  return {};
}

TEST(AdamCalls, ShareWithoutAGradientFollowsFromTouches) {
  const int64_t n = 1 << 16;
  EXPECT_EQ(untouched_percent(n, 2, 0), 100);
  EXPECT_EQ(untouched_percent(n, 2, n / 2), 37);  // as many touches as groups: 1 / e
  EXPECT_EQ(untouched_percent(n, 2, n / 20.0), 90);
  EXPECT_EQ(untouched_percent(n, 2, 8.0 * n), 0);
  EXPECT_EQ(untouched_percent(n, n, 0), 0);  // a matrix
}

TEST(AdamCalls, AGpuUpdatesTheWholeTableAtOnce) {
  Config c;
  c.log2_table = 18;
  const auto whole = dims_of_table(training_calls(c, 1, {}, 0), c.features);
  const auto part = dims_of_table(training_calls(c, 1), c.features);
  ASSERT_EQ(whole.size(), 3U);
  ASSERT_EQ(part.size(), 3U);
  EXPECT_GT(whole[0], kAdamStretch);
  EXPECT_EQ(part[0], kAdamStretch);
  EXPECT_EQ(part[2], whole[2]);
}

TEST(AdamCalls, LargerBatchesLeaveFewerEntriesOut) {
  Config small, large;
  small.log2_table = large.log2_table = 18;
  small.batch_samples = 1 << 12;
  large.batch_samples = 1 << 18;
  const auto a = dims_of_table(training_calls(small, 1, {}, 0), small.features);
  const auto b = dims_of_table(training_calls(large, 1, {}, 0), large.features);
  ASSERT_EQ(a.size(), 3U);
  ASSERT_EQ(b.size(), 3U);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_GT(a[0], kAdamStretch);
  EXPECT_GT(a[2], 70);
  EXPECT_LT(b[2], 10);
}

}  // namespace
}  // namespace klab
