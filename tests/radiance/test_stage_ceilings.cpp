// The ceilings that the stages of a training run are compared with.
#include <gtest/gtest.h>

#include "labs/radiance/run/stage_ceilings.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

TEST(StageCeilings, AreSampledDuringTheRun) {
  Trainer trainer(small_scene(), small_config(), small_plan(), 1);
  StageCeilings ceilings(2);
  ceilings.sample(trainer.profile());  // nothing was called yet
  EXPECT_TRUE(ceilings.shares(trainer.profile()).empty());
  trainer.step(0);
  EXPECT_TRUE(ceilings.shares(trainer.profile()).empty()) << "not sampled since";
  ceilings.sample(trainer.profile());
  trainer.step(0);
  ceilings.sample(trainer.profile());
  EXPECT_EQ(ceilings.samples(), 3);
  const auto shares = ceilings.shares(trainer.profile());
  for (const char* stage :
       {"hashgrid_fwd", "hashgrid_bwd", "mlp_fwd color", "mlp_bwd color", "composite_fwd"}) {
    ASSERT_TRUE(shares.contains(stage)) << stage;
    EXPECT_GT(shares.at(stage).share, 0) << stage;
  }
  EXPECT_EQ(shares.at("mlp_fwd color").name, "fma f32");
  EXPECT_FALSE(shares.contains("occupancy")) << "more than one op";
}

}  // namespace
}  // namespace klab
