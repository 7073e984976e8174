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
  const auto zeros = [&](double touches) { return adam_calls(n, 2, touches).front().shape[2]; };
  EXPECT_EQ(zeros(0), 100);
  EXPECT_EQ(zeros(n / 2), 37);  // as many touches as groups: 1 / e
  EXPECT_EQ(zeros(n / 20.0), 90);
  EXPECT_EQ(zeros(8.0 * n), 0);
  EXPECT_EQ(adam_calls(n, n, 0).front().shape[2], 0);  // a matrix
}

TEST(AdamCalls, AGpuUpdatesTheWholeTableAtOnce) {
  const auto whole = adam_calls(6000000, 2, 1e6, 0), parts = adam_calls(6000000, 2, 1e6);
  EXPECT_EQ(whole.front().shape[0], 6000000);
  EXPECT_EQ(whole.front().times, 1);
  EXPECT_EQ(parts.front().shape[0], kAdamStretch);
  EXPECT_NEAR(parts.front().times, 6000000.0 / kAdamStretch, 1e-9);
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
