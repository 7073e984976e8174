// Training in half precision with CUDA rungs, on the host executor: the table read in halves, networks that multiply them, float
// masters and losses, a loss scale.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "harness/simt/session.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/trainer.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

StepPrecision halves(const LossScaleSettings& scale = {}) {
  return {.formats = half_formats_on_a_gpu(), .scale = scale};
}

Plan plan_of_halves(const Config& c) {
  CallTimes times;
  return Plan::named("best", training_calls(c, 1, half_formats_on_a_gpu()), times, "cuda", Unit::f16);
}

Trainer half_trainer(const Config& c, uint64_t seed, const LossScaleSettings& scale = {}) {
  const BackendChoice where = backend_named("simt");
  return Trainer(small_scene(), c, plan_of_halves(c), seed, where.backend, where.sizes, nullptr, {},
                 halves(scale));
}

Trainer on_the_processor(const Config& c, uint64_t seed, const StepPrecision& precision = {}) {
  CallTimes times;
  const Plan plan = Plan::named("naive", training_calls(c, 1, precision.formats), times);
  return Trainer(small_scene(), c, plan, seed, cpu_backend(), {}, nullptr, {}, precision);
}

std::vector<float> parameters(const Trainer& t) {
  std::vector<float> all;
  for (const Part part : kParts) all.insert(all.end(), t.model().of(part).begin(), t.model().of(part).end());
  return all;
}

TEST(HalfOnAGpu, ThePlanUsesHalfRungs) {
  const Config c = tiny_config();
  const Plan plan = plan_of_halves(c);
  EXPECT_EQ(plan.variant("mlp_fwd")->numerics.unit, Unit::f16);
  EXPECT_EQ(plan.variant("mlp_bwd")->numerics.unit, Unit::f16);
  EXPECT_EQ(plan.variant("hashgrid_fwd")->needs, std::vector<std::string>{"table_half"});
  // Without a copy of halves no rung reads one; in float no rung multiplies them.
  CallTimes times;
  const Plan floats = Plan::named("best", training_calls(c, 1), times, "cuda");
  EXPECT_TRUE(floats.variant("hashgrid_fwd")->needs.empty());
  EXPECT_EQ(floats.variant("mlp_fwd")->numerics.unit, Unit::f32);
}

// In every precision: factors of eight bits err by percents.
TEST(HalfOnAGpu, EightBitsAreUsedOnlyIfNamed) {
  const Config c = tiny_config();
  const auto calls = training_calls(c, 1);
  CallTimes times;
  for (const Unit precision : {Unit::f32, Unit::bf16, Unit::f16}) {
    const Plan best = Plan::named("best", calls, times, "cuda", precision);
    for (const auto& [op, choice] : best.choices())
      EXPECT_GT(bits_of(choice.variant->numerics.unit), 8) << choice.variant->id;
  }
  for (const std::string op : {"mlp_fwd", "mlp_bwd"}) {
    const Plan named = Plan::fixed({{op, op + ".cuda.06_fp8"}}, "mine.json", calls, times, "cuda");
    EXPECT_EQ(bits_of(named.variant(op)->numerics.unit), 8);
    EXPECT_EQ(named.at(op).why, "by the plan mine.json, in eight bits");
  }
}

double apart(double a, double b) { return std::abs(a - b) / std::abs(a); }

/// The loss of the first step goes through an interpolation, two networks of five layers together, and colors: some twenty
/// roundings to 11 bits, errors of random signs in the mean over a batch, so that 20 of them bound it. From then on Adam feeds
/// the roundings back: half precision on the processor, another way to round, differs from floats as much, and four times that is
/// the bound.
TEST(HalfOnAGpu, LossesMatchFloatAsOnTheCpu) {
  const Config c = tiny_config();
  constexpr int steps = 40;
  Trainer floats = on_the_processor(c, 9),
          here = on_the_processor(c, 9, {.formats = half_formats(), .scale = LossScaleSettings{}}),
          there = half_trainer(c, 9);
  double bound = 20 * 0x1p-11, worst = 0;
  for (int i = 0; i < steps; ++i) {
    const double right = floats.step(0).loss;
    bound = std::max(bound, 4 * apart(right, here.step(0).loss));
    const StepReport report = there.step(0);
    ASSERT_TRUE(report.finite) << "step " << i;
    EXPECT_LE(apart(right, report.loss), bound) << "step " << i;
    worst = std::max(worst, apart(right, report.loss));
  }
  EXPECT_GT(worst, 0) << "nothing is rounded";
  EXPECT_LE(bound, 0.5) << "a bound that holds nothing";
  RecordProperty("worst", std::to_string(worst));
  RecordProperty("bound", std::to_string(bound));
  EXPECT_GT(there.lost().numbers, 0);
}

/// The gradient of the whole step is that of floats, along itself, after unscaling.
TEST(HalfOnAGpu, GradientsMatchFloat) {
  const Config c = tiny_config();
  Trainer floats = on_the_processor(c, 5);
  for (const LossScaleSettings& scale :
       {LossScaleSettings{}, LossScaleSettings{.dynamic = false, .start = 128}}) {
    Trainer half = half_trainer(c, 5, scale);
    half.loss_and_gradient();
    for (const Part part : kParts)
      std::fill(floats.gradient(part).begin(), floats.gradient(part).end(), 0.0F);
    floats.loss_and_gradient();
    for (const Part part : kParts) {
      const Array<float>&a = floats.gradient(part), &b = half.gradient(part);
      double difference = 0, size = 0;
      for (int64_t i = 0; i < a.size(); ++i) {
        difference += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
        size += double(a[i]) * double(a[i]);
      }
      EXPECT_LT(std::sqrt(difference / size), 0.02) << int(part) << ", scale " << scale.start;
      EXPECT_GT(difference, 0) << int(part);
    }
  }
}

/// A step whose gradients overflow changes nothing but the scale; those after it train.
TEST(HalfOnAGpu, AnOverflowSkipsItsStep) {
  Trainer t = half_trainer(tiny_config(), 3, {.start = 0x1p40, .most = 0x1p41});
  const std::vector<float> before = parameters(t);
  EXPECT_FALSE(t.step(0).finite);
  EXPECT_EQ(parameters(t), before);
  EXPECT_EQ(t.loss_scale()->value(), 0x1p39);
  EXPECT_EQ(t.loss_scale()->state().skipped, 1);
  int64_t skipped = 1;
  while (!t.step(0).finite) ASSERT_LT(++skipped, 40);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(t.step(0).finite);
  EXPECT_EQ(t.loss_scale()->state().skipped, skipped);
  EXPECT_EQ(t.steps_done(), skipped + 4);
  EXPECT_NE(parameters(t), before);
  for (const float p : parameters(t)) ASSERT_TRUE(std::isfinite(p));
}

TEST(HalfOnAGpu, LowersATooLargeScale) {
  Trainer t = half_trainer(tiny_config(), 1, {.start = 0x1p40, .most = 0x1p41});
  int64_t skipped = 0;
  while (!t.step(0).finite) ASSERT_LT(++skipped, 40);
  EXPECT_GT(skipped, 5);
  EXPECT_EQ(t.loss_scale()->value(), std::ldexp(1.0, 40 - int(skipped)));
}

/// A checkpoint holds the masters, so a run can resume in any precision on any backend.
TEST(HalfOnAGpu, CheckpointsResumeOnAnyBackend) {
  const Config c = tiny_config();
  const TempFolder folder;
  const std::filesystem::path file = folder / "checkpoint.safetensors";
  Trainer simt = half_trainer(c, 3);
  for (int i = 0; i < 6; ++i) simt.step(0);
  simt.save(file, {});
  const TensorFile saved(file);
  Trainer again = half_trainer(c, 99),
          halves_here = on_the_processor(c, 99, {.formats = half_formats(), .scale = LossScaleSettings{}}),
          floats = on_the_processor(c, 99);
  const StepReport next = simt.step(0);
  for (Trainer* t : {&again, &halves_here, &floats}) {
    t->restore(saved);
    EXPECT_EQ(t->steps_done(), 6);
    const StepReport r = t->step(0);
    EXPECT_EQ(r.rays, next.rays);
    EXPECT_LE(apart(next.loss, r.loss), 20 * 0x1p-11);
  }
  EXPECT_EQ(parameters(again), parameters(simt));
}

/// No access of a step in half precision is out of bounds, unordered, or to unwritten memory.
TEST(HalfOnAGpu, ATracedStepHasNoFinding) {
  Config c = tiny_config();
  weigh_all_terms(c, 1e-3);
  simt::Session session({.traced = true, .counts = false});
  Trainer trainer = half_trainer(c, 9);
  trainer.step(0);
  trainer.step(0);
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
}

}  // namespace
}  // namespace klab
