// The L1 loss of depth: its value, its gradient on each ray, alone and with the squared one, and what training with it does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "labs/radiance/field/config.h"
#include "labs/radiance/loss/terms.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/trainer.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// Rays of the last batch.
struct DepthRays {
  explicit DepthRays(const Trainer& trainer)
      : weight(trainer.tensor("weight")),
        depth(trainer.tensor("depth")),
        truth(trainer.tensor("target depth")),
        gradient(trainer.tensor("d_depth")) {}
  /// Returns the mean of |depth - truth| over the rays that count, 0 where the truth is not known.
  double mean() const {
    double sum = 0;
    for (size_t r = 0; r < weight.size(); ++r)
      if (truth[r] > 0) sum += double(weight[r]) * std::abs(double(depth[r]) - double(truth[r]));
    return sum;
  }

  std::vector<float> weight, depth, truth, gradient;
};

Trainer trainer_with(double l1, double squared) {
  Config c = small_config();
  c.depth_l1 = l1;
  c.depth = squared;
  return {small_scene(), c, small_plan(), 3};
}

TEST(DepthL1, AddsItsMeanOverTheRays) {
  Trainer without = trainer_with(0, 0), with = trainer_with(0.5, 0);
  const double none = without.loss_and_gradient().loss, loss = with.loss_and_gradient().loss;
  const double mean = DepthRays(with).mean();
  ASSERT_GT(mean, 0.01);
  EXPECT_NEAR(loss - none, 0.5 * mean, 1e-5 * loss);
}

TEST(DepthL1, PullsEachRayByItsWeightWhateverItsError) {
  Trainer trainer = trainer_with(0.5, 0);
  trainer.loss_and_gradient();
  const DepthRays rays(trainer);
  int known = 0, unknown = 0;
  for (size_t r = 0; r < rays.weight.size(); ++r) {
    const float error = rays.depth[r] - rays.truth[r];
    const float expected = rays.truth[r] > 0 && error != 0 ? std::copysign(0.5F * rays.weight[r], error) : 0;
    EXPECT_EQ(rays.gradient[r], expected) << "ray " << r;
    (rays.truth[r] > 0 ? known : unknown) += rays.weight[r] > 0;
  }
  EXPECT_GT(known, 10);
  EXPECT_GT(unknown, 0);
}

/// The second term on the depth writes its gradient elsewhere, and it is added.
TEST(DepthL1, AddsItsGradientToThatOfTheSquaredLoss) {
  Trainer trainer = trainer_with(0.5, 0.25);
  trainer.loss_and_gradient();
  const DepthRays rays(trainer);
  for (size_t r = 0; r < rays.weight.size(); ++r) {
    const double weight = rays.weight[r], error = double(rays.depth[r]) - double(rays.truth[r]);
    const double sign = double(error > 0) - double(error < 0);
    const double expected = rays.truth[r] > 0 ? weight * (0.25 * error + 0.5 * sign) : 0;
    // Four roundings: the difference, two products, the sum.
    EXPECT_NEAR(double(rays.gradient[r]), expected,
                4 * 0x1p-24 * weight * (0.5 + 0.25 * double(rays.depth[r] + rays.truth[r])))
        << "ray " << r;
  }
}

TEST(DepthL1, BringsExpectedDepthsNearTheTrueOnes) {
  const auto end_of_training = [](double weight) {
    constexpr int steps = 120, last = 40;
    Trainer trainer = trainer_with(weight, 0);
    double mean = 0;
    for (int i = 0; i < steps; ++i) {
      trainer.step(0);
      if (i >= steps - last) mean += DepthRays(trainer).mean() / last;
    }
    return mean;
  };
  // The least weight keeps the ops that compute depths.
  const double with = end_of_training(0.1), without = end_of_training(1e-12);
  EXPECT_LT(with, 0.8 * without);
}

/// A run reads a scene's depth for a term that needs it, and for no other.
TEST(DepthL1, DepthIsReadForEachTermThatNeedsIt) {
  for (const char* field : {"hash", "voxels"})
    for (const LossTerm& each : loss_terms()) {
      const std::string config = fmt::format("{{\"{}\": 0.1}}", each.term->name);
      EXPECT_EQ(weighs_depth(field_settings(field, config, "my.json")),
                (each.term->needs & Term::true_depth) != 0)
          << field << ", " << each.term->name;
    }
}

TEST(DepthL1, ASceneWithoutDepthRefusesItByName) {
  Scene flat = built_in_scene({.downscale = 16});
  for (View& v : flat.train) v.depth.clear();
  Config c = small_config();
  c.depth_l1 = 0.1;
  try {
    Trainer(flat, c, small_plan(), 3);
    FAIL() << "a weight of depth does nothing";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("\"depth_l1\" needs"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace klab
