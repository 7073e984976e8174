// The calls of a step at their typical sizes, for a plan.
#include <fmt/format.h>

#include "harness/program/measure_ops.h"
#include "labs/radiance/field/rays.h"
#include "labs/radiance/train/trainer.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/error_map_draw/error_map_draw.h"
#include "reference/error_map_learn/error_map_learn.h"
#include "reference/error_map_weigh/error_map_weigh.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

namespace klab {
namespace {

/// Returns the calls of a step for the config's loss. Ops that only a term calls are measured.
std::vector<PlannedCall> loss_calls(const Config& c, int cascades, int64_t rays, int64_t samples) {
  const std::string pixels = fmt::format("{} rays", rays), all = fmt::format("{} of {} rays", samples, rays);
  const PixelLossFwd::Shape pixel_loss = {.n = rays, .kind = loss_kind(c.loss)};
  std::vector<PlannedCall> calls = {planned<PixelLossFwd>(pixel_loss, pixels),
                                    planned<PixelLossBwd>(pixel_loss, pixels)};
  if (TrainStep::fusable(c))
    calls.push_back(
        planned<CompositeLossBwd>({.rays = rays, .samples = samples, .kind = loss_kind(c.loss)}, all));
  if (has_terms(c, Term::on_own_points)) {
    const int64_t n = 4 * TrainStep::kTermPoints;
    const std::string points = fmt::format("{} points", n);
    calls.push_back(planned_lookup(c, cascades, n, points));
    calls.push_back(planned<MlpFwd>(density_shape(c, n), points));
    calls.push_back(planned<MlpBwd>(density_shape(c, n), points));
    calls.push_back(planned_scatter(c, cascades, n, points));
  }
  return calls;
}

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
  const int64_t samples = c.batch_samples, rays = TrainStep::usual_rays(samples);
  std::vector<PlannedCall> calls = shading_calls(c, cascades, rays, samples, TrainStep::march_capacity(c));
  const auto add = [&](std::vector<PlannedCall> more) {
    calls.insert(calls.end(), more.begin(), more.end());
  };
  const std::string all = fmt::format("{} samples", samples);
  add(loss_calls(c, cascades, rays, samples));
  if (c.sampling == "error") add(error_map_calls(rays));
  add({planned<CompositeBwd>({.rays = rays, .samples = samples}, fmt::format("{} of {} rays", all, rays)),
       planned<MlpBwd>(color_shape(c, samples), all), planned<MlpBwd>(density_shape(c, samples), all),
       planned_scatter(c, cascades, samples, all)});
  const int64_t table = table_room(c, cascades) * c.features;
  add(adam_calls(table, c.features, 8.0 * double(c.levels * samples), stretch));  // corners of cells
  for (const int64_t weights : {density_shape(c, 0).weights(), color_shape(c, 0).weights()})
    add(adam_calls(weights, weights, 0));
  Memory memory;
  const TrainStep step(memory, c, cascades, {.views = 1, .pixels = samples, .depth = c.depth > 0}, {},
                       formats);
  MeasureOps measured(memory);
  step.loss_and_gradient(measured);
  step.occupancy(measured);
  step.occupancy_bits(measured);
  step.update(measured);
  step.update_average(measured);
  add_other_calls(measured, calls);
  if (formats.half_table)
    for (PlannedCall& call : calls)
      if (call.op == HashgridFwd::name) call.given = {"table_half"};
  return calls;
}

std::vector<PlannedCall> picture_calls(const Config& c, int cascades, Storage precision) {
  const int64_t samples = c.batch_samples, rays = TrainStep::usual_rays(samples);
  std::vector<PlannedCall> calls =
      shading_calls(c, cascades, rays, samples, TrainStep::march_capacity(c), 1, precision);
  Memory memory;
  const TrainStep step(memory, c, cascades, {.views = 1}, {}, {.held = narrow_format_of(precision)});
  MeasureOps measured(memory);
  step.picture(measured);
  add_other_calls(measured, calls);
  return calls;
}

}  // namespace klab
