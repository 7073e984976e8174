// A step is a list of ops: the same list on the processor with exact sizes, with padded ones, and with CUDA rungs on the
// host executor.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/simt/session.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/trainer.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

Config tiny_config() {
  Config c = small_config();
  c.levels = 4;
  c.log2_table = 9;
  c.finest_resolution = 64;
  c.batch_samples = 256;
  c.first_rays = 16;
  c.max_samples_per_ray = 64;
  c.grid = 16;
  c.grid_every = 8;
  c.grid_warmup = 16;
  c.steps_per_diagonal = 32;
  return c;
}

const Plan& tiny_plan(const Config& c, const std::string& ladder) {
  static std::map<std::string, Plan> plans;
  static CallTimes times;
  if (!plans.contains(ladder))
    plans.emplace(ladder, Plan::named("naive", training_calls(c, 1), times, ladder));
  return plans.at(ladder);
}

Trainer trainer_on(const std::string& backend, const Config& c, uint64_t seed) {
  const BackendChoice choice = backend_named(backend);
  CallTimes times;
  const Plan plan = choice.ladder == "cpu" ? tiny_plan(c, "cpu")
                                           : Plan::named("best", training_calls(c, 1), times, choice.ladder);
  return Trainer(small_scene(), c, plan, seed, choice.backend, choice.sizes);
}

double apart(double a, double b) { return std::abs(a - b) / std::abs(a); }

/// Padding weighs nothing.
TEST(Step, LargestSizesGiveTheSameLosses) {
  for (const double terms : {0.0, 1e-2}) {
    Config c = tiny_config();
    c.opacity_entropy = c.distortion = c.depth = c.total_variation = terms;
    CallTimes times;
    const Plan plan = Plan::named("naive", training_calls(c, 1), times);
    Backend padded = cpu_backend();
    padded.exact = false;
    Trainer one(small_scene(), c, plan, 5),
        other(small_scene(), c, plan, 5, padded, {.looks = {0}, .stretch = 0});
    for (int i = 0; i < 40; ++i) {
      const StepReport a = one.step(0), b = other.step(0);
      EXPECT_EQ(a.rays, b.rays) << "step " << i;
      EXPECT_EQ(a.samples, b.samples) << "step " << i;
      EXPECT_LE(apart(a.loss, b.loss), i == 0 ? 1e-5 : 1e-3 * i) << "step " << i;
    }
    EXPECT_EQ(one.occupied_share(), other.occupied_share());
  }
}

/// Before the first update only the order of sums differs; after it Adam turns the sign of gradients that are zero but for
/// rounding into whole steps, and what differs grows with the number of steps.
TEST(Step, CudaRungsOnTheHostTrainAsTheProcessorDoes) {
  const Config c = tiny_config();
  Trainer cpu = trainer_on("cpu", c, 9), simt = trainer_on("simt", c, 9);
  double worst = 0;
  for (int i = 0; i < 100; ++i) {
    const StepReport a = cpu.step(0), b = simt.step(0);
    const double bound = i == 0 ? 1e-5 : std::min(0.25, 0.01 * i);
    EXPECT_LE(apart(a.loss, b.loss), bound) << "step " << i << ": " << a.loss << " and " << b.loss;
    worst = std::max(worst, apart(a.loss, b.loss) / bound);
    EXPECT_NEAR(double(a.rays), double(b.rays), 0.1 * double(a.rays) + 2) << "step " << i;
  }
  RecordProperty("largest_share_of_the_bound", std::to_string(worst));
  EXPECT_NEAR(cpu.batch_psnr(), simt.batch_psnr(), 1);
  EXPECT_NEAR(cpu.occupied_share(), simt.occupied_share(), 0.02);
}

/// No access of a step is out of bounds, unordered, or to what nobody wrote.
TEST(Step, ATracedStepHasNoFinding) {
  Config c = tiny_config();
  c.opacity_entropy = c.distortion = c.depth = c.total_variation = 1e-3;
  simt::Session session({.traced = true, .counts = false});
  Trainer trainer = trainer_on("simt", c, 9);
  trainer.step(0);
  trainer.step(0);
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
  c.opacity_entropy = c.distortion = c.depth = c.total_variation = 0;  // with the fused op
  Trainer fused = trainer_on("simt", c, 9);
  fused.step(0);
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
}

/// A run goes on where another backend left it.
TEST(Step, ACheckpointGoesFromBackendToBackend) {
  const Config c = tiny_config();
  const auto file =
      std::filesystem::temp_directory_path() / ("klab_step_" + std::to_string(::getpid()) + ".safetensors");
  Trainer simt = trainer_on("simt", c, 3);
  for (int i = 0; i < 6; ++i) simt.step(0);
  simt.save(file, {});
  Trainer cpu = trainer_on("cpu", c, 99);
  cpu.restore(TensorFile(file));
  std::filesystem::remove(file);
  EXPECT_EQ(cpu.steps_done(), 6);
  EXPECT_EQ(cpu.occupied_share(), simt.occupied_share());
  const StepReport a = cpu.loss_and_gradient(), b = simt.loss_and_gradient();
  EXPECT_EQ(a.rays, b.rays);
  EXPECT_LE(apart(a.loss, b.loss), 1e-5);
}

/// The gradient of the whole step on the host executor, along itself, against differences of the loss.
TEST(Step, GradientOnTheHostExecutor) {
  Config c = tiny_config();
  c.loss = "mse";
  Trainer trainer = trainer_on("simt", c, 11);
  for (int i = 0; i < 20; ++i) trainer.step(0);
  const auto file =
      std::filesystem::temp_directory_path() / ("klab_grad_" + std::to_string(::getpid()) + ".safetensors");
  trainer.save(file, {});
  for (const Part part : kParts) {
    trainer.restore(TensorFile(file));
    for (const Part other : kParts)
      std::fill(trainer.gradient(other).begin(), trainer.gradient(other).end(), 0.0F);
    trainer.restore(TensorFile(file));  // and with it the zeros
    trainer.loss_and_gradient();
    const Array<float>& g = trainer.gradient(part);
    const std::vector<float> gradient(g.begin(), g.end());
    double length = 0;
    for (const float v : gradient) length += double(v) * double(v);
    ASSERT_GT(length, 0) << int(part);
    constexpr double h = 2e-3;
    const auto loss_at = [&](double where) {
      trainer.restore(TensorFile(file));
      trainer.move(part, gradient, where / std::sqrt(length));
      return trainer.loss_and_gradient().loss;
    };
    const double measured = (loss_at(h) - loss_at(-h)) / (2 * h);
    EXPECT_NEAR(measured, std::sqrt(length), 0.03 * std::sqrt(length)) << int(part);
  }
  std::filesystem::remove(file);
}

TEST(Step, ListsSayWhatTheyAre) {
  const Config c = tiny_config();
  const Step step(c, 1, {.views = 3, .pixels = 1000}, {});
  const std::string text = text_of(step.loss(true), step.arena);
  EXPECT_NE(text.find("draw_rays(rays, 3, 1000, 0, 0, 1, 1)"), std::string::npos) << text;
  EXPECT_NE(text.find("composite_loss_bwd(rays, samples, 1) begin"), std::string::npos) << text;
  EXPECT_EQ(text.find("composite_fwd"), std::string::npos) << text;
  EXPECT_NE(text_of(step.loss(false), step.arena).find("pixel_loss_bwd"), std::string::npos);
}

TEST(Backends, AreRefusedByName) {
  EXPECT_THROW(backend_named("opencl"), std::runtime_error);
  try {
    backend_named("cuda");
  } catch (const std::runtime_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("--backend cuda: ")) << e.what();
  }
}

}  // namespace
}  // namespace klab
