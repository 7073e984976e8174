// Gaussians that are relocated: those at one place look together as one did, the number grows to its budget, noise and pull.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "labs/radiance/splat/relocation.h"
#include "labs/radiance/splat/trainer.h"

namespace klab {
namespace {

float logit(double p) { return float(std::log(p / (1 - p))); }

DensityOptions relocation_options(int64_t budget) {
  DensityOptions o;
  o.relocate = true;
  o.budget = o.most = budget;
  return o;
}

// By integration along a line through the center: the opacity of N bells, one behind the other, has the area of the one.
TEST(Relocation, CopiesLookTogetherAsOneDid) {
  for (const double opacity : {0.05, 0.5, 0.9})
    for (const int copies : {1, 2, 5}) {
      const SharedPlace place = shared_place(opacity, copies);
      EXPECT_NEAR(std::pow(1 - place.opacity, copies), 1 - opacity, 1e-12);
      double one = 0, many = 0;
      constexpr double kStep = 1e-3;
      for (double x = -12; x < 12; x += kStep) {
        one += kStep * opacity * std::exp(-x * x / 2);
        const double bell = place.opacity * std::exp(-x * x / (2 * place.size * place.size));
        many += kStep * (1 - std::pow(1 - bell, copies));
      }
      EXPECT_NEAR(many, one, 1e-6 * one) << copies << " copies of opacity " << opacity;
    }
}

TEST(Relocation, MovesTheTransparentToTheOpaque) {
  GaussianSet set = random_gaussians(100, 1, 3);
  for (size_t i = 0; i < 100; ++i) set.opacity_raw[i] = logit(i < 20 ? 0.001 : i == 50 ? 0.8 : 0.01);
  const DensityChange change = relocated(set, relocation_options(100), 7);
  EXPECT_EQ(change.set.n, 100);
  EXPECT_EQ(change.removed, 20);
  int to_the_opaque = 0;
  for (size_t i = 0; i < 100; ++i) {
    const auto from = size_t(change.from[i]);
    EXPECT_GE(from, 20U) << "a transparent one was copied";
    EXPECT_EQ(change.set.position[i], set.position[from]);
    EXPECT_EQ(i < 20, from != i);
    to_the_opaque += i < 20 && from == 50 ? 1 : 0;
    const bool shared = std::ranges::count(change.from, int64_t(from)) > 1;
    EXPECT_EQ(change.fresh[i], shared ? 1 : 0) << "moments of a Gaussian that changed";
    EXPECT_EQ(change.set.opacity_raw[i] == set.opacity_raw[from], !shared);
  }
  // It has half of all opacity.
  EXPECT_GE(to_the_opaque, 4);
  EXPECT_LE(to_the_opaque, 16);
}

TEST(Relocation, GrowsByATwentiethUpToTheBudget) {
  GaussianSet set = random_gaussians(100, 0, 3);
  DensityStatistics unused;
  unused.reset(100);
  EXPECT_EQ(change_density(set, unused, relocation_options(1000), 1, 0.5, false, 1).set.n, 105);
  EXPECT_EQ(change_density(set, unused, relocation_options(102), 1, 0.5, false, 1).set.n, 102);
  EXPECT_EQ(change_density(set, unused, relocation_options(100), 1, 0.5, false, 1).set.n, 100);
  for (float& raw : set.opacity_raw) raw = logit(1e-4);
  EXPECT_EQ(relocated(set, relocation_options(1000), 1).set.n, 100) << "there is no place to move to";
}

TEST(Relocation, NoiseMovesWhatShowsLittleWithinItsShape) {
  constexpr int64_t kNumber = 4000;
  GaussianSet set = GaussianSet::zeros(kNumber, 0);
  for (int64_t i = 0; i < kNumber; ++i) {
    set.quaternion[size_t(i)] = 1;
    set.log_scale[size_t(i)] = std::log(0.1F);
    for (int64_t k : {1, 2}) set.log_scale[size_t(k * kNumber + i)] = std::log(0.01F);
    set.opacity_raw[size_t(i)] = logit(i % 2 == 0 ? 0.0001 : 0.5);
  }
  GaussianSet again = set;
  const DensityOptions options = relocation_options(kNumber);
  add_noise(set, options, 1e-4, 2, 5, 9);
  add_noise(again, options, 1e-4, 2, 5, 9);
  EXPECT_EQ(set.position, again.position) << "draws depend on seed and step alone";
  double squares[3] = {0, 0, 0};
  for (int64_t i = 0; i < kNumber; ++i)
    for (int64_t k = 0; k < 3; ++k) {
      const double moved = set.position[size_t(k * kNumber + i)];
      if (i % 2 == 1) {
        EXPECT_LT(std::abs(moved), 1e-12) << "an opaque one moved";
      }
      squares[k] += i % 2 == 0 ? moved * moved : 0;
    }
  // Noise of 5e5 times the rate over the square of the extent, times the variance along the axis.
  const double hidden = 1 / (1 + std::exp(-100 * 0.0049)), strength = 5e5 * 1e-4 / 4 * hidden;
  const double deviation = std::sqrt(squares[0] / (kNumber / 2));
  EXPECT_NEAR(deviation / (strength * 0.01), 1, 0.07);
  EXPECT_NEAR(std::sqrt(squares[0] / squares[1]), 100, 7);
}

TEST(Relocation, GradientOfThePullMatchesFiniteDifferences) {
  GaussianSet set = random_gaussians(5, 0, 2);
  for (size_t i = 0; i < 5; ++i) set.opacity_raw[i] = -1 + 0.4F * float(i);
  DensityOptions options = relocation_options(5);
  options.opacity_pull = 0.3;
  options.size_pull = 0.7;
  GaussianSet gradient = GaussianSet::zeros(5, 0);
  pull_of(set, options, 1.7, &gradient);
  for (const size_t tensor : {1, 3})
    for (size_t i = 0; i < set.tensors()[tensor]->size(); ++i) {
      float& value = (*set.tensors()[tensor])[i];
      const float at = value, step = 1e-2F;
      value = at + step;
      const double above = pull_of(set, options, 1.7, nullptr);
      value = at - step;
      const double below = pull_of(set, options, 1.7, nullptr);
      value = at;
      const double expected = (above - below) / double((at + step) - (at - step));
      EXPECT_NEAR((*gradient.tensors()[tensor])[i], expected, 1e-4 * std::abs(expected) + 1e-9);
    }
}

// A short training: the number reaches its budget, the same every time, and the picture is better than a blank one.
TEST(Relocation, ATrainingGrowsToItsBudget) {
  const Scene scene = built_in_scene({.downscale = 16});
  SplatOptions options;
  options.initial = 200;
  options.degree = 0;
  options.density = relocation_options(260);
  options.density_every = 5;
  options.density_from = 10;
  options.density_until = 0.9;
  options.background = "white";
  CallTimes times;
  const Image& first = scene.train.front().image;
  const Plan plan = Plan::named("naive", splat_training_calls(200, 0, first.width, first.height), times);
  const auto train = [&] {
    auto trainer = std::make_unique<SplatTrainer>(scene, options, plan, 1);
    for (int k = 0; k < 60; ++k) trainer->step(double(k) / 60);
    return trainer;
  };
  const auto trainer = train();
  EXPECT_EQ(trainer->set().n, 260);
  EXPECT_EQ(trainer->set().position, train()->set().position);
}

}  // namespace
}  // namespace klab
