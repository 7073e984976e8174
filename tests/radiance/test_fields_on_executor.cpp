// Steps of every field with CUDA rungs on the host executor: watched, counted, and with the losses of the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/core/registry.h"
#include "harness/simt/session.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/counting.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

constexpr int kSteps = 2;  // the second depends on the first one's gradients and update

FieldSettings executor_settings(const std::string& field) {
  FieldSettings s;
  s.field = field == "gaussians_with_options" ? "gaussians" : field;
  s.hash = tiny_config();
  s.frequency.octaves = 4;
  s.frequency.direction_octaves = 2;
  s.frequency.width = 16;
  s.frequency.depth = 3;
  s.frequency.skip = 2;
  s.frequency.rays = 24;
  s.frequency.coarse = s.frequency.fine = 8;
  s.frequency.chunk = 256;  // 16 rays: a step is a whole chunk and a part of one
  s.voxels.first_grid = 8;
  s.voxels.grid = 16;
  s.voxels.batch_samples = 256;
  s.voxels.first_rays = 16;
  s.gaussians.initial = 60;
  s.gaussians.most = 80;
  s.gaussians.sh_degree = 1;
  if (field != s.field) s.gaussians.antialias = "yes", s.gaussians.density_gradient = "absolute";
  return s;
}

struct StepLosses {
  std::vector<double> losses, gradients;
};

StepLosses losses_of(FieldSettings settings, const BackendChoice& place) {
  settings.on_a_gpu = place.ladder == "cuda";
  CallTimes times;
  const Plan plan =
      Plan::named("naive", run_calls(settings, small_scene().cascades, place.ladder), times, place.ladder);
  const auto trainer = make_trainer(settings, small_scene(), plan, 3, place);
  StepLosses out;
  for (int step = 0; step < kSteps; ++step) {
    trainer->measure_next_gradient();
    const StepReport report = trainer->step(0);
    out.losses.push_back(trainer->batch_loss(report.loss));
    out.gradients.push_back(report.gradient_norm);
  }
  return out;
}

std::vector<std::string> executor_cases() {
  std::vector<std::string> cases = field_names();
  cases.emplace_back("gaussians_with_options");
  return cases;
}

class FieldsOnExecutor : public testing::TestWithParam<std::string> {};

TEST_P(FieldsOnExecutor, StepsAreWatchedCountedAndHaveTheProcessorsLosses) {
  if (std::ranges::none_of(variants(), [](const Variant& v) { return bool(v.host); }))
    GTEST_SKIP() << "this klab has no CUDA rungs for the host";
  const FieldSettings settings = executor_settings(GetParam());
  const auto counts = std::make_shared<StepCounts>();
  BackendChoice place = backend_named("simt");
  place.backend = counting_backend(counts);
  const auto on_executor = [&] {
    const simt::Session all({.traced = true});  // it sees what is written between the steps' ops as well
    return losses_of(settings, place);
  };
  const StepLosses executor = on_executor(), processor = losses_of(settings, backend_named("cpu"));
  for (const std::string& finding : counts->findings) ADD_FAILURE() << finding;
  for (int step = 0; step < kSteps; ++step) {
    const auto k = size_t(step);
    // Float sums of a few thousand terms in another order; after the first update also what that makes of it.
    const double bound = step == 0 ? 1e-5 : 1e-3;
    EXPECT_NEAR(executor.losses[k], processor.losses[k], bound * std::abs(processor.losses[k]))
        << "step " << step;
    EXPECT_NEAR(executor.gradients[k], processor.gradients[k], 20 * bound * processor.gradients[k])
        << "step " << step;
    EXPECT_GT(processor.gradients[k], 0);
  }
  EXPECT_NE(executor.losses[0], executor.losses[1]) << "nothing was learned";
  const OpWork total = counts->total();
  EXPECT_GT(total.calls, kSteps * 5);
  EXPECT_GT(total.sectors, 0);
  EXPECT_GT(total.least_seconds, 0);
  EXPECT_TRUE(counts->ops.contains("adam"));
  for (const auto& [op, work] : counts->ops) {
    EXPECT_GT(work.launches, 0) << op;
    EXPECT_TRUE(work.variant.find(".cuda.") != std::string::npos) << work.variant;
  }
  const std::string own = GetParam() == "gaussians"                ? "gs_rasterize_bwd"
                          : GetParam() == "gaussians_with_options" ? "gs_rasterize_abs_bwd"
                          : GetParam() == "frequency"              ? "matmul_bwd"
                          : GetParam() == "voxels"                 ? "voxel_sh_bwd"
                                                                   : "hashgrid_bwd";
  EXPECT_TRUE(counts->ops.contains(own)) << own;
  EXPECT_EQ(counts->ops.contains("gs_antialias_bwd"), GetParam() == "gaussians_with_options");
}

// Nothing is lost with the GPU: the arrays are the host's, and the step that failed has changed none of them.
TEST(LostInTheMiddle, GaussiansAreThoseOfTheLastStep) {
  if (std::ranges::none_of(variants(), [](const Variant& v) { return bool(v.host); }))
    GTEST_SKIP() << "this klab has no CUDA rungs for the host";
  bool lost = false;
  set_backend_hook([&](const char* call) {
    if (lost) throw std::runtime_error(std::string("cudaErrorLaunchFailure in ") + call);
  });
  const struct NoHook {
    ~NoHook() { set_backend_hook({}); }
  } no_hook_afterwards;
  const BackendChoice place = backend_named("simt");
  FieldSettings settings = executor_settings("gaussians");
  settings.on_a_gpu = true;
  CallTimes times;
  const Plan plan = Plan::named("naive", run_calls(settings, 1, "cuda"), times, "cuda");
  GaussianTrainer trainer(small_scene(), settings.gaussians, plan, 3, place.backend);
  trainer.step(0);
  const GaussianModel before = trainer.model();
  lost = true;
  EXPECT_THROW(trainer.step(0), std::runtime_error);
  EXPECT_EQ(trainer.steps_done(), 1);
  EXPECT_EQ(trainer.model().set.position, before.set.position);
  EXPECT_EQ(trainer.model().set.coefficients, before.set.coefficients);
  lost = false;
  EXPECT_EQ(trainer.step(0).step, 2);
}

INSTANTIATE_TEST_SUITE_P(AllFields, FieldsOnExecutor, testing::ValuesIn(executor_cases()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace klab
