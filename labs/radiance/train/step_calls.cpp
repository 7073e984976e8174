// The calls of a step and of a picture for a plan: what measuring their programs finds, at usual sizes.
#include <fmt/format.h>

#include "harness/program/measure_ops.h"
#include "labs/radiance/train/trainer.h"
#include "reference/error_map_draw/error_map_draw.h"
#include "reference/error_map_learn/error_map_learn.h"
#include "reference/error_map_weigh/error_map_weigh.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

namespace klab {
namespace {

/// Returns the calls for drawing pixels by their error, of a hundred pictures of 400x400.
std::vector<PlannedCall> error_map_calls(int64_t rays) {
  constexpr int64_t views = 100, blocks = views * 400 * 400 / ErrorMapDraw::kBlock, list = ErrorMap::kList;
  return {planned<ErrorMapDraw>({.views = views, .blocks = blocks, .listed = 0, .list = list},
                                fmt::format("{} views", views), 1.0 / 16),
          planned<ErrorMapWeigh>({.rays = rays, .views = views, .list = list}, fmt::format("{} rays", rays)),
          planned<ErrorMapLearn>({.rays = rays, .blocks = blocks}, fmt::format("{} rays", rays))};
}

}  // namespace

std::vector<PlannedCall> training_calls(const Config& c, int cascades, const StepFormats& formats,
                                        int64_t stretch) {
  Memory memory;
  StepSizes sizes;
  sizes.stretch = stretch;
  const TrainStep step(memory, c, cascades,
                       {.views = 1, .pixels = c.batch_samples, .depth = needs(c, Term::true_depth)}, sizes,
                       formats);
  MeasureOps measured(memory);
  step.loss_and_gradient(measured);
  step.update(measured);
  measured.once_in(double(c.grid_every));
  step.occupancy(measured);
  step.occupancy_bits(measured);
  measured.once_in(double(TrainStep::kAverageEvery));
  step.update_average(measured);
  std::vector<PlannedCall> calls = measured.deciding();
  if (c.sampling == "error") {
    const std::vector<PlannedCall> more = error_map_calls(TrainStep::usual_rays(c.batch_samples));
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

std::vector<PlannedCall> picture_calls(const Config& c, int cascades, Storage precision) {
  Memory memory;
  const TrainStep step(memory, c, cascades, {.views = 1}, {}, {.held = narrow_format_of(precision)});
  MeasureOps measured(memory);
  step.picture(measured);
  std::vector<PlannedCall> calls = measured.deciding();
  if (precision == Storage::int8)  // one of the two kinds of products is chosen: multiplies_bytes()
    for (const MlpFwd::Shape& network : {density_shape(c, c.batch_samples), color_shape(c, c.batch_samples)})
      calls.push_back(planned<MlpInt8Fwd>(network, fmt::format("{} samples", c.batch_samples)));
  return calls;
}

}  // namespace klab
