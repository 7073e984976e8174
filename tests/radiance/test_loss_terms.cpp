// Terms of the loss: what follows from their declarations, and that terms on one quantity add up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/program/measure_ops.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/voxel_trainer.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

std::string message_of_terms(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

/// Returns the mean of f(opacity) over the rays of the last batch that count.
double mean_over_rays(const Trainer& trainer, const std::function<double(double opacity)>& f) {
  const std::vector<float> weight = trainer.tensor("weight"), opacity = trainer.tensor("opacity");
  double mean = 0;
  for (size_t r = 0; r < weight.size(); ++r) mean += double(weight[r]) * f(double(opacity[r]));
  return mean;
}
double opacity_of(const Trainer& trainer) {
  return mean_over_rays(trainer, [](double o) { return o; });
}
double binary_entropy_of(const Trainer& trainer) {
  return mean_over_rays(trainer, [](double opacity) {
    const double o = std::clamp(opacity, 1e-6, 1 - 1e-6);
    return -(o * std::log(o) + (1 - o) * std::log(1 - o));
  });
}

/// The loss and the gradient of the densities' network for a batch that is the same for all weights.
struct LossOfTerms {
  double loss;
  std::vector<float> gradient;
  double opacity;             // mean over the rays that count
  double binary_entropy;      // likewise
  std::vector<float> pixels;  // the pixels' loss of each ray
};
LossOfTerms loss_of_terms(double l1, double entropy, double binary_entropy = 0) {
  Config c = small_config();
  c.opacity_l1 = l1;
  c.opacity_entropy = entropy;
  c.opacity_binary_entropy = binary_entropy;
  Trainer trainer(small_scene(), c, small_plan(), 3);
  LossOfTerms result = {.loss = trainer.loss_and_gradient().loss,
                        .gradient = {},
                        .opacity = opacity_of(trainer),
                        .binary_entropy = binary_entropy_of(trainer),
                        .pixels = trainer.tensor("value")};
  const Array<float>& g = trainer.gradient(Part::density);
  result.gradient.assign(g.begin(), g.end());
  return result;
}

TEST(LossTerms, GradientsOfTwoTermsOnTheOpacityAddUp) {
  const LossOfTerms none = loss_of_terms(0, 0), l1 = loss_of_terms(0.5, 0), entropy = loss_of_terms(0, 0.25),
                    both = loss_of_terms(0.5, 0.25);
  double of_l1 = 0, of_entropy = 0, apart = 0;
  for (size_t i = 0; i < none.gradient.size(); ++i) {
    const double zero = double(none.gradient[i]), a = double(l1.gradient[i]) - zero,
                 b = double(entropy.gradient[i]) - zero, sum = double(both.gradient[i]) - zero;
    of_l1 += a * a;
    of_entropy += b * b;
    apart += (sum - a - b) * (sum - a - b);
  }
  EXPECT_GT(of_l1, 0);
  EXPECT_GT(of_entropy, 0);
  // A lost gradient would leave one of them whole.
  EXPECT_LE(std::sqrt(apart), 1e-3 * std::sqrt(std::min(of_l1, of_entropy)));
  EXPECT_NEAR(both.loss - none.loss, (l1.loss - none.loss) + (entropy.loss - none.loss), 1e-5 * both.loss);
  EXPECT_EQ(both.pixels, none.pixels) << "an error map learns from them";
  ASSERT_GT(l1.opacity, 0.01);
  EXPECT_NEAR(l1.loss - none.loss, 0.5 * l1.opacity, 1e-5 * l1.loss) << "the weight times the mean opacity";
}

TEST(LossTerms, TheBinaryEntropyAddsItsMeanOverTheRays) {
  const LossOfTerms none = loss_of_terms(0, 0), with = loss_of_terms(0, 0, 0.5);
  ASSERT_GT(with.binary_entropy, 0.01);
  EXPECT_NEAR(with.loss - none.loss, 0.5 * with.binary_entropy, 1e-5 * with.loss);
}

/// A weight that is too large empties all rays, so that their opacity is compared, too.
TEST(LossTerms, TheBinaryEntropyMakesRaysOpaqueOrEmpty) {
  struct Mean {
    double entropy, opacity;
  };
  const auto end_of_training = [](double weight) {
    constexpr int steps = 120, last = 40;
    Config c = small_config();
    c.opacity_binary_entropy = weight;
    Trainer trainer(small_scene(), c, small_plan(), 3);
    Mean mean = {};
    for (int i = 0; i < steps; ++i) {
      trainer.step(0);
      if (i < steps - last) continue;
      mean.entropy += binary_entropy_of(trainer) / last;
      mean.opacity += opacity_of(trainer) / last;
    }
    return mean;
  };
  // The least weight keeps the ops that compute opacities.
  const Mean with = end_of_training(3e-3), without = end_of_training(1e-12);
  EXPECT_LT(with.entropy, 0.9 * without.entropy);
  EXPECT_GT(with.opacity, 0.5 * without.opacity);
}

/// On a grid of voxels: the change of the loss along the gradient of the densities, with every term at once.
TEST(LossTerms, VoxelsHaveTheGradientOfEveryTerm) {
  VoxelConfig c;
  c.first_grid = 8;
  c.grid = 16;
  c.batch_samples = 1024;
  c.first_rays = 64;
  c.loss = "mse";
  for (const LossTerm& each : loss_terms())
    c.*each.weight = each.term->where == Term::on_own_points ? 0.1 : 1;
  CallTimes times;
  const Plan plan = Plan::named("naive", voxel_calls(c, true), times);
  VoxelTrainer trainer(small_scene(), c, plan, 5, cpu_backend(), {});
  trainer.loss_and_gradient();
  const Array<float>& g = trainer.gradient(VoxelStep::density);
  const std::vector<float> gradient(g.begin(), g.end());
  double length = 0;
  for (const float v : gradient) length += double(v) * double(v);
  length = std::sqrt(length);
  ASSERT_GT(length, 0);
  auto& density = const_cast<Array<float>&>(trainer.model().density);
  const std::vector<float> before(density.begin(), density.end());
  const auto loss_at = [&](double where) {
    for (size_t i = 0; i < before.size(); ++i)
      density[int64_t(i)] = float(double(before[i]) + where * double(gradient[i]) / length);
    return trainer.loss_and_gradient().loss;
  };
  constexpr double h = 1e-2;
  EXPECT_NEAR((loss_at(h) - loss_at(-h)) / (2 * h), length, 0.02 * length);
}

/// Returns the ops of a step of the hash field with one term, or with none.
std::set<std::string> ops_of_step(double LossSettings::*weight) {
  Config c = small_config();
  if (weight != nullptr) c.*weight = 1e-3;
  Memory memory;
  const TrainStep step(memory, c, 1, {.views = 3, .pixels = 1000, .depth = true}, {});
  MeasureOps measured(memory);
  step.loss_and_gradient(measured);
  std::set<std::string> ops;
  for (const PlannedCall& call : measured.calls()) ops.insert(call.op);
  return ops;
}

TEST(LossTerms, DeclareTheOpsThatTheyCall) {
  std::set<std::string> without = ops_of_step(nullptr);
  for (const LossTerm& each : loss_terms()) {
    std::set<std::string> declared;
    for (const std::string_view op : each.term->ops)
      if (!op.empty()) declared.emplace(op);
    for (const std::string& op : without) EXPECT_FALSE(declared.contains(op)) << op << " is in every step";
    std::set<std::string> called = ops_of_step(each.weight);
    for (const std::string& op : without) called.erase(op);
    EXPECT_EQ(called, declared) << each.term->name;
  }
}

TEST(LossTerms, RangeAndDefaultComeFromTheDeclaration) {
  for (const LossTerm& each : loss_terms()) {
    const Term& t = *each.term;
    const auto with = [&](double weight) { return fmt::format("{{\"{}\": {}}}", t.name, weight); };
    EXPECT_EQ(Config().*each.weight, t.default_value) << t.name;
    EXPECT_EQ(config_from_json(with(t.high), "my.json").*each.weight, t.high) << t.name;
    const std::string refused = message_of_terms([&] { config_from_json(with(2 * t.high), "my.json"); });
    EXPECT_NE(refused.find(fmt::format("\"{}\" must be a number from {} to {}", t.name, t.low, t.high)),
              std::string::npos)
        << refused;
  }
  EXPECT_EQ(VoxelConfig().total_variation, 1e-6) << "voxels have a default of their own";
}

TEST(LossTerms, AFieldRefusesATermByWhatItLacks) {
  for (const char* field : {"frequency", "gaussians"})
    for (const LossTerm& each : loss_terms()) {
      const bool of_opacity = each.term->needs == Term::opacity;
      const std::string name = each.term->name, key = fmt::format("\"{}\"", name);
      // The classic field has terms of opacity, and a "depth" that is no weight.
      if (std::string(field) == "frequency" && (of_opacity || name == "depth")) continue;
      const std::string refused =
          message_of_terms([&] { field_settings(field, fmt::format("{{{}: 0.1}}", key), "my.json"); });
      EXPECT_NE(refused.find(key), std::string::npos) << refused;
      EXPECT_TRUE(refused.ends_with(
          fmt::format("{}, which --field {} does not have: take --field {}", need_of_setting(name), field,
                      of_opacity ? "hash or frequency or voxels" : "hash or voxels")))
          << refused;
    }
  EXPECT_EQ(field_settings("frequency", R"({"opacity_l1": 0.1})", "my.json").frequency.terms.opacity_l1, 0.1);
  // The classic field has a "depth" that is no weight.
  const std::string depth =
      message_of_terms([&] { field_settings("gaussians", R"({"depth": 0.1})", "my.json"); });
  EXPECT_TRUE(depth.ends_with("take --field hash or voxels")) << depth;
  EXPECT_EQ(field_settings("voxels", R"({"opacity_entropy": 0.1})", "my.json").voxels.opacity_entropy, 0.1);
}

TEST(LossTerms, ASceneWithoutDepthRefusesTheTermByName) {
  Scene flat = built_in_scene({.downscale = 16});
  for (View& v : flat.train) v.depth.clear();
  Config c = small_config();
  c.depth = 0.1;
  const std::string refused = message_of_terms([&] { Trainer(flat, c, small_plan(), 3); });
  EXPECT_NE(refused.find("\"depth\" needs pictures with their true depth"), std::string::npos) << refused;
  EXPECT_EQ(message_of_terms([&] { Trainer(small_scene(), c, small_plan(), 3); }), "accepted");
}

}  // namespace
}  // namespace klab
