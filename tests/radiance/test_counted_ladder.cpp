// Plans counted on the host executor: the same loss by each, and counts that show the purpose of each rung.
#include <gtest/gtest.h>

#include "labs/radiance/run/counted_ladder.h"
#include "labs/radiance/run/plan_ladder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

TEST(CountedLadder, PlansAgreeAndTheLastMovesLess) {
  Config c = counted_config();
  c.levels = 4;
  c.log2_table = 9;
  c.batch_samples = 128;
  c.first_rays = 32;
  c.max_samples_per_ray = 32;
  c.grid = 16;
  CallTimes times;
  const auto calls = training_calls(c, 1);
  const auto rungs = count_plans(small_scene(), c, Plan::named("naive", calls, times, "cuda"),
                                 Plan::named("best", calls, times, "cuda"), 2, {});
  ASSERT_GT(rungs.size(), 5U);
  const OpWork first = rungs.front().counts.total(), last = rungs.back().counts.total();
  for (const CountedRung& r : rungs) {
    EXPECT_TRUE(r.counts.findings.empty()) << r.name << ": " << r.counts.findings.front();
    EXPECT_LE(std::abs(r.loss - rungs.front().loss), loss_bound(2) * rungs.front().loss) << r.name;
    EXPECT_GT(r.counts.total().least_seconds, 0) << r.name;
  }
  EXPECT_LT(last.sectors, first.sectors);
  EXPECT_TRUE(rungs.front().counts.ops.at("hashgrid_fwd").variant.starts_with("hashgrid_fwd.cuda.01"));
}

TEST(CountedLadder, ContractsBoundAStep) {
  const Config c;
  const simt::GpuModel& gpu = *simt::find_gpu("h100");
  const ContractBound bound = contract_bound(c, 1, gpu);
  EXPECT_GT(bound.bytes, 1e8);  // the optimizer alone: 28 bytes for each of six million parameters
  EXPECT_LT(bound.bytes, 2e9);
  EXPECT_GE(bound.seconds, bound.bytes / gpu.rates.dram * 0.999);
  EXPECT_LT(contract_bound(c, 1, *simt::find_gpu("h200")).seconds, bound.seconds);
}

}  // namespace
}  // namespace klab
