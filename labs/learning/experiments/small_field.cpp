#include "labs/learning/experiments/small_field.h"

#include <cmath>
#include <limits>

#include "labs/learning/experiments/experiment.h"
#include "labs/radiance/evaluate/evaluate.h"

namespace klab::learning {
namespace {

constexpr int kShrunk = 16;  // pictures of 20 pixels a side

}  // namespace

SmallField::SmallField(uint64_t seed)
    : scene(built_in_scene({.downscale = kShrunk, .seed = seed})), seed_(seed) {
  config.levels = 6;
  config.log2_table = 12;
  config.finest_resolution = 128;
  config.batch_samples = 4096;
  config.first_rays = 64;
  config.grid = 32;
  config.steps_per_diagonal = 128;
  config.width = 32;
}

std::unique_ptr<klab::Trainer> SmallField::trainer(const StepPrecision& precision) const {
  const Plan plan = untimed_plan(training_calls(config, scene.cascades, precision.formats));
  return std::make_unique<klab::Trainer>(scene, config, plan, seed_, cpu_backend(), StepSizes{}, nullptr,
                                         BatchShare{}, precision);
}

std::unique_ptr<klab::Trainer> SmallField::trained(int64_t steps, const StepPrecision& precision) const {
  auto made = trainer(precision);
  for (int64_t i = 0; i < steps; ++i) made->step(double(i) / double(steps));
  return made;
}

double SmallField::psnr(const Model& model) const {
  return evaluate(model, untimed_plan(render_calls(model.config, scene.cascades)), scene.test).psnr;
}

double SmallField::psnr_of(int64_t steps, const StepPrecision& precision) const {
  try {
    return psnr(trained(steps, precision)->averaged());
  } catch (const klab::NotFinite&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

StepPrecision with_dynamic_scale(const StepFormats& formats) {
  return {.formats = formats, .scale = LossScaleSettings{}};
}

StepPrecision with_static_scale(const StepFormats& formats, double scale) {
  return {.formats = formats, .scale = LossScaleSettings{.dynamic = false, .start = scale}};
}

}  // namespace klab::learning
