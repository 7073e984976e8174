// What a plan is chosen for: the calls that measuring a step's programs finds.
#include <gtest/gtest.h>

#include <algorithm>

#include "labs/radiance/train/trainer.h"
#include "labs/radiance/train/voxel_step.h"

namespace klab {
namespace {

/// Returns the planned calls of an op.
std::vector<PlannedCall> calls_of(const std::vector<PlannedCall>& calls, const std::string& op) {
  std::vector<PlannedCall> own;
  std::ranges::copy_if(calls, std::back_inserter(own), [&](const PlannedCall& c) { return c.op == op; });
  return own;
}

TEST(StepCalls, LargeCallsDecideAndSmallOnesMustBePossible) {
  Config c;
  c.total_variation = 1e-3;  // a term on points of its own
  const std::vector<PlannedCall> networks = calls_of(training_calls(c, 1), "mlp_bwd");
  ASSERT_EQ(networks.size(), 3U);  // color, density, and density at the points
  for (const PlannedCall& call : networks)
    if (call.shape[0] == c.batch_samples)
      EXPECT_EQ(call.times, 1) << call.size;
    else
      EXPECT_EQ(call.times, 0) << call.size;
}

TEST(StepCalls, WhatHappensEveryFewStepsCountsLess) {
  const Config c;
  const std::vector<PlannedCall> calls = training_calls(c, 1);
  const std::vector<PlannedCall> bits = calls_of(calls, "occupancy_bits");
  ASSERT_EQ(bits.size(), 1U);
  EXPECT_DOUBLE_EQ(bits.front().times, 1.0 / double(c.grid_every));
}

TEST(StepCalls, TheTableDecidesAboutTheOptimizer) {
  const Config c;
  for (const PlannedCall& call : calls_of(training_calls(c, 1), "adam"))
    EXPECT_EQ(call.times > 0, call.shape[1] == c.features && call.shape[0] == kAdamStretch) << call.size;
  const VoxelConfig voxels;
  double most = 0;
  for (const PlannedCall& call : calls_of(voxel_calls(voxels, true), "adam"))
    most = std::max(most, call.times);
  EXPECT_GT(most, 10);
}

}  // namespace
}  // namespace klab
