// What a plan is chosen for: the calls that measuring a step's programs finds.
#include <gtest/gtest.h>

#include <algorithm>

#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/splat/trainer.h"
#include "labs/radiance/train/frequency_step.h"
#include "labs/radiance/train/trainer.h"
#include "labs/radiance/train/voxel_step.h"
#include "tests/radiance/small_training.h"

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

/// Two passes: samples of the first are evaluated again next to those that it places, so its calls are smaller and decide, too.
TEST(StepCalls, BothPassesOfAFrequencyFieldAreMeasured) {
  FrequencyConfig c;
  c.width = 32;
  c.depth = 4;
  c.skip = 2;
  c.coarse = c.fine = 16;
  c.chunk = 2048;
  c.rays = 100;
  const int64_t rays = c.chunk / (c.coarse + c.fine), coarse = rays * c.coarse, all = 2 * coarse;
  const std::vector<PlannedCall> calls = frequency_calls(c, true);
  double products = 0;
  for (const PlannedCall& call : calls_of(calls, "matmul")) {
    EXPECT_TRUE(call.shape[1] == coarse || call.shape[1] == all) << call.size;
    products += call.times;
    if (call.shape[0] == c.width && call.shape[2] == c.width) EXPECT_GE(call.times, 3) << call.size;
  }
  EXPECT_GE(products, 6);  // of the trunk; small ones have to be possible only
  ASSERT_EQ(calls_of(calls, "sample_pdf").size(), 1U);
  ASSERT_EQ(calls_of(calls, "draw_rays").size(), 1U);
  EXPECT_EQ(calls_of(calls, "draw_rays").front().shape.front(), c.rays);
  ASSERT_EQ(calls_of(calls, "adam").size(), 1U);
  EXPECT_EQ(calls_of(calls, "adam").front().shape.front(), FrequencyNet(c).size);
  EXPECT_TRUE(calls_of(calls, "composite_bwd").empty());
}

TEST(StepCalls, AFewRaysOfAFrequencyFieldAreNoWholeChunk) {
  FrequencyConfig c;
  c.rays = 8;
  for (const PlannedCall& call : calls_of(frequency_calls(c, true), "composite_loss_bwd"))
    EXPECT_EQ(call.shape.front(), c.rays) << call.size;
}

TEST(StepCalls, TermsOfAFrequencyFieldAreMeasured) {
  FrequencyConfig c;
  weigh_all_terms(c.terms, 1);
  const std::vector<PlannedCall> calls = frequency_calls(c, true);
  for (const char* op : {"opacity_entropy_fwd", "opacity_entropy_bwd", "weighted_sum", "composite_bwd"})
    EXPECT_FALSE(calls_of(calls, op).empty()) << op;
}

TEST(StepCalls, PicturesInFewerBitsHaveBothKindsOfProducts) {
  FrequencyConfig c;
  c.width = 32;
  c.depth = 4;
  c.skip = 2;
  for (const Storage held : {Storage::f32, Storage::f16, Storage::bf16, Storage::int8}) {
    const std::vector<PlannedCall> calls = frequency_calls(c, false, held);
    const bool pairs = held == Storage::bf16 || held == Storage::int8;
    EXPECT_FALSE(calls_of(calls, "matmul").empty());
    EXPECT_EQ(!calls_of(calls, "matmul_bf16").empty(), pairs);
    EXPECT_EQ(!calls_of(calls, "cast").empty(), pairs);
    EXPECT_TRUE(calls_of(calls, "matmul_bwd").empty());
  }
}

/// Entries of the tiles' lists, which no memory bounds, are those of a usual scene.
TEST(StepCalls, StepsOfGaussiansAreMeasured) {
  const int64_t n = 1000;
  const std::vector<PlannedCall> calls = splat_training_calls(n, 2, 64, 48);
  ASSERT_EQ(calls_of(calls, "gs_rasterize_bwd").size(), 1U);
  EXPECT_EQ(calls_of(calls, "gs_rasterize_bwd").front().shape, (std::vector<int64_t>{n, 3 * n, 64, 48}));
  ASSERT_EQ(calls_of(calls, "ssim_loss_fwd").size(), 1U);
  EXPECT_LT(calls_of(calls, "ssim_loss_fwd").front().times, calls_of(calls, "ssim_loss_bwd").front().times);
  for (const PlannedCall& call : calls_of(calls, "adam")) {
    if (call.shape.front() == 24 * n)
      EXPECT_EQ(call.times, 1) << call.size;  // harmonics, most of the numbers
    if (call.shape.front() == n) EXPECT_EQ(call.times, 0) << call.size;
  }
  for (const char* op : {"gs_rasterize_abs_bwd", "gs_antialias_fwd", "gs_antialias_bwd"})
    EXPECT_TRUE(calls_of(calls, op).empty()) << op;
  const auto more = splat_training_calls(n, 2, 64, 48, {.antialiased = true, .pull = true});
  for (const char* op : {"gs_rasterize_bwd", "gs_rasterize_abs_bwd", "gs_antialias_fwd", "gs_antialias_bwd"})
    EXPECT_EQ(calls_of(more, op).size(), 1U) << op;
  EXPECT_TRUE(calls_of(painting_calls(n, 2, 64, 48), "gs_rasterize_bwd").empty());
}

}  // namespace
}  // namespace klab
