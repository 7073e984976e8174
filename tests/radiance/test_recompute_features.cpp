// A step whose features are looked up again for the gradients: the same numbers with less memory.
#include <gtest/gtest.h>

#include <cmath>

#include "labs/radiance/train/backends.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

TEST(RecomputedFeatures, TrainToTheSameBits) {
  StepSizes again;
  again.recompute = true;
  Trainer kept(small_scene(), small_config(), small_plan(), 1),
      looked_up(small_scene(), small_config(), small_plan(), 1, cpu_backend(), again);
  for (int i = 0; i < 20; ++i) {
    const StepReport a = kept.step(0), b = looked_up.step(0);
    ASSERT_EQ(a.loss, b.loss) << "step " << i;
    ASSERT_EQ(a.samples, b.samples) << "step " << i;
  }
  for (const Part part : kParts)
    EXPECT_TRUE(std::equal(kept.model().of(part).begin(), kept.model().of(part).end(),
                           looked_up.model().of(part).begin()));
}

TEST(RecomputedFeatures, TakeLessMemory) {
  StepSizes again;
  again.recompute = true;
  const Config c = small_config();
  const int64_t features = c.levels * c.features * int64_t(sizeof(float));
  // The features of one pass remain, of three passes and the samples that count.
  EXPECT_LE(
      Trainer::bytes_of(small_scene(), c, again),
      Trainer::bytes_of(small_scene(), c) - 2 * features * 4 * c.batch_samples - features * c.batch_samples);
}

TEST(RecomputedFeatures, OnTheHostExecutorToo) {
  Config c = small_config();
  c.levels = 4;
  c.log2_table = 9;
  c.batch_samples = 256;
  c.first_rays = 16;
  c.max_samples_per_ray = 64;
  c.grid = 16;
  CallTimes times;
  const BackendChoice where = backend_named("simt");
  StepSizes again = where.sizes;
  again.recompute = true;
  const Plan plan = Plan::named("best", training_calls(c, 1), times, where.ladder);
  Trainer kept(small_scene(), c, plan, 1, where.backend, where.sizes),
      looked_up(small_scene(), c, plan, 1, where.backend, again);
  EXPECT_EQ(kept.loss_and_gradient().loss, looked_up.loss_and_gradient().loss);
  for (const Part part : kParts) {
    const Array<float>&a = kept.gradient(part), &b = looked_up.gradient(part);
    double difference = 0, size = 0;
    for (int64_t i = 0; i < a.size(); ++i) {
      difference += std::abs(double(a[i]) - double(b[i]));
      size += std::abs(double(a[i]));
    }
    ASSERT_GT(size, 0) << int(part);
    EXPECT_LE(difference, 1e-5 * size) << int(part);  // sums in another order, by atomics
  }
}

}  // namespace
}  // namespace klab
