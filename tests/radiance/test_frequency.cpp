// The classic field: its gradient, that it learns, that a resumed run is the run.
// ctest: slow
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "labs/radiance/train/frequency_trainer.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

FrequencyConfig small_field() {
  FrequencyConfig c;
  c.octaves = 4;
  c.direction_octaves = 2;
  c.width = 32;
  c.depth = 4;
  c.skip = 2;
  c.rays = 100;
  c.coarse = 16;
  c.fine = 16;
  c.chunk = 2048;  // 64 rays: a step is a whole chunk and a part of one
  c.learning_rate = 3e-3;
  return c;
}

const Plan& field_plan() {
  static CallTimes times;
  static const Plan plan = [] {
    FrequencyConfig with_terms = small_field();
    weigh_all_terms(with_terms.terms, 1);
    return Plan::named("naive", frequency_calls(with_terms, true), times);
  }();
  return plan;
}

/// The gradient is exact for the last pass alone: the first one decides where the second samples, and that is
/// not differentiated.
void expect_gradient_by_differences(const FrequencyConfig& config) {
  FrequencyTrainer trainer(small_scene(), config, field_plan(), 3);
  trainer.loss_and_gradient();
  Array<float>& gradient = trainer.gradient(0);
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  Array<float>& parameters = trainer.model().parameters[0];
  double length = 0;
  for (const float g : gradient) length += double(g) * double(g);
  length = std::sqrt(length);
  ASSERT_GT(length, 1e-4);
  // Along the gradient, and along a direction of its length that is half of it and half drawn.
  for (const double share : {1.0, 0.5}) {
    std::vector<float> kept(parameters.begin(), parameters.end()), direction;
    const double spread = length / std::sqrt(double(parameters.size()));
    double slope = 0;
    for (const float g : gradient) {
      direction.push_back(float(share * double(g) + (1 - share) * spread * normal(random)));
      slope += double(g) * double(direction.back());
    }
    const auto loss_at = [&](double times) {
      for (int64_t i = 0; i < parameters.size(); ++i)
        parameters[i] = float(double(kept[size_t(i)]) + times * double(direction[size_t(i)]));
      FrequencyTrainer other(small_scene(), config, field_plan(), 3);
      std::copy(parameters.begin(), parameters.end(), other.model().parameters[0].begin());
      return other.loss_and_gradient();
    };
    const double h = 1e-3 / length;
    const double numerical = (loss_at(h) - loss_at(-h)) / (2 * h);
    EXPECT_NEAR(numerical, slope, 0.02 * std::abs(slope)) << "share " << share;
    std::copy(kept.begin(), kept.end(), parameters.begin());
  }
}

TEST(Frequency, GradientMatchesFiniteDifferences) {
  FrequencyConfig config = small_field();
  config.fine = 0;
  expect_gradient_by_differences(config);
}

TEST(Frequency, GradientOfTermsOfOpacityMatchesFiniteDifferences) {
  FrequencyConfig config = small_field();
  config.fine = 0;
  for (const LossTerm& each : loss_terms()) {
    if (each.term->needs != Term::opacity) continue;
    SCOPED_TRACE(each.term->name);
    config.terms = {};
    config.terms.*each.weight = 1;
    expect_gradient_by_differences(config);
  }
}

TEST(Frequency, TermsAreAPartOfTheLoss) {
  FrequencyConfig config = small_field();
  FrequencyTrainer plain(small_scene(), config, field_plan(), 3);
  config.terms.opacity_entropy = 0.5;
  config.terms.opacity_l1 = 0.25;
  FrequencyTrainer trainer(small_scene(), config, field_plan(), 3);
  const StepReport with = trainer.step(0), without = plain.step(0);
  double sum = 0;
  for (size_t k = 0; k < kLossTerms; ++k) {
    EXPECT_EQ(with.terms[k] > 0, config.terms.*loss_terms()[k].weight > 0) << loss_terms()[k].term->name;
    EXPECT_EQ(without.terms[k], 0) << loss_terms()[k].term->name;
    sum += with.terms[k];
  }
  EXPECT_NEAR(with.loss, without.loss + sum, 1e-6 * with.loss);
}

TEST(Frequency, TheTrainerLearns) {
  FrequencyTrainer trainer(small_scene(), small_field(), field_plan(), 1);
  double first = 0, last = 0;
  for (int i = 0; i < 90; ++i) {
    const double loss = trainer.step(i / 90.0).loss;
    (i < 15 ? first : last) += i < 15 || i >= 75 ? loss / 15 : 0;
  }
  EXPECT_LT(last, 0.8 * first);
  EXPECT_GT(trainer.batch_psnr(), 8);
}

TEST(Frequency, ResumesToTheBit) {
  const TempFolder folder;
  const fs::path file = folder / "checkpoint.safetensors";
  FrequencyTrainer whole(small_scene(), small_field(), field_plan(), 5),
      resumed(small_scene(), small_field(), field_plan(), 9);
  for (int i = 0; i < 4; ++i) whole.step(i / 8.0);
  whole.save(file, {});
  resumed.restore(TensorFile(file));
  EXPECT_EQ(resumed.steps_done(), 4);
  for (int i = 4; i < 8; ++i) whole.step(i / 8.0), resumed.step(i / 8.0);
  for (size_t k = 0; k < 2; ++k)
    EXPECT_TRUE(std::equal(whole.model().parameters[k].begin(), whole.model().parameters[k].end(),
                           resumed.model().parameters[k].begin()));
}

/// The second pass's samples are those of the first, plus samples where the first had weight.
TEST(Frequency, FineSamplesFollowCoarseWeights) {
  FrequencyModel model(small_field(), {});
  model.initialize(1);
  FrequencyPasses passes(model.config, model.placement);
  const float origins[3] = {0.5F, 0.5F, -1}, directions[3] = {0, 0, 1};
  Profile profile;
  Memory memory(cpu_backend());
  RunOps(memory).run("passes", field_plan(), profile, [&](Ops& ops) {
    passes.evaluate(ops, model, {origins, directions, 1, 0, 1}, {});
  });
  const FrequencyPasses::Pass &first = passes.passes()[0], &second = passes.passes()[1];
  EXPECT_FLOAT_EQ(first.t[0], 1 + 0.5F / 16);
  double sum = 0;
  for (int64_t i = 0; i < second.each; ++i) {
    sum += double(second.delta[size_t(i)]);
    if (i > 0) EXPECT_GE(second.t[size_t(i)], second.t[size_t(i - 1)]);
    EXPECT_GE(second.t[size_t(i)], 1);
    EXPECT_LE(second.t[size_t(i)], 2);
  }
  EXPECT_NEAR(sum, 2 - double(second.t[0]), 1e-5);
  for (int64_t i = 0; i < first.each; ++i)
    EXPECT_TRUE(std::find(second.t.begin(), second.t.begin() + second.each, first.t[size_t(i)]) !=
                second.t.begin() + second.each);
}

}  // namespace
}  // namespace klab
