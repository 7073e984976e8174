#include "labs/radiance/train/voxel_step.h"

#include <fmt/format.h>

#include "harness/program/measure_ops.h"
#include "harness/program/op_names.h"
#include "labs/radiance/field/config.h"
#include "labs/radiance/field/optimizer.h"
#include "reference/adam/adam.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "reference/place_samples/place_samples.h"
#include "reference/ray_weights/ray_weights.h"
#include "reference/sample_begin/sample_begin.h"
#include "reference/spread_samples/spread_samples.h"
#include "reference/visible_limit/visible_limit.h"
#include "reference/voxel_march/voxel_march.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"
#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {

RayStep::Room VoxelStep::room_of(const VoxelConfig& c, int64_t grid) {
  return {.rays = ray_capacity(c),
          .marched = march_capacity(c, grid),
          .samples = sample_capacity(c),
          .points = has_terms(c, Term::on_own_points) ? kTermPoints : 0,
          .usual_rays = usual_rays(c.batch_samples),
          .usual_samples = c.batch_samples};
}

VoxelStep::VoxelStep(Memory& memory, const VoxelConfig& config, int64_t grid, int64_t rows,
                     const ViewData& view_data, const StepSizes& step_sizes, StepPart part, Storage precision)
    : RayStep(memory, room_of(config, grid), config, view_data, step_sizes),
      c_(config),
      grid_(grid),
      rows_(rows),
      part_(std::move(part)),
      held_(narrow_format_of(precision)) {
  const char* const names[] = {"density", "coefficients"};
  for (size_t k = 0; k < 2; ++k) {
    const std::string name = names[k];
    const int64_t n = size_of(int(k));
    parameters[k] = memory.tensor<float>(name, 1, n);
    gradient[k] = memory.tensor<float>("d_" + name, 1, n);
    m[k] = memory.tensor<float>(name + ".m", 1, n);
    v[k] = memory.tensor<float>(name + ".v", 1, n);
    steps[k] = memory.tensor<int32_t>(name + ".steps", 1, rows_);
  }
  if (held_ >= 0) few_densities = memory.tensor<uint16_t>("density in halves", 1, rows_);
  if (held_ == narrow_format::int8) {
    bytes = memory.tensor<int8_t>("coefficients in bytes", 1, size_of(coefficients));
    factors = memory.tensor<float>("coefficients.factors", 1, 3 * c_.basis());
  } else if (held_ >= 0) {
    halves = memory.tensor<uint16_t>("coefficients in 16 bits", 1, size_of(coefficients));
  }
  links = memory.tensor<int32_t>("links", 1, (grid_ + 1) * (grid_ + 1) * (grid_ + 1));
  bits = memory.tensor<uint8_t>("cells", 1, grid_ * grid_ * grid_ / 8);
  for (const Pass& pass : passes)
    densities_.push_back(
        memory.tensor<float>(fmt::format("pass {} raw", densities_.size()), 1, pass.samples));
  raw = memory.tensor<float>("raw", 1, samples);
  point_raw = memory.tensor<float>("raw of points", 1, 4 * room.points);
  d_point_raw = memory.tensor<float>("d_raw of points", 1, 4 * room.points);
}

void place(StepNumbers& n, const VoxelModel& model) {
  n.box[0] = model.placement.near;
  n.box[1] = n.volume[0] = model.placement.side();
  n.box[2] = n.volume[1] = model.is_graded() ? 1.0F : 0.0F;
  n.box[3] = model.placement.far;
}

void VoxelStep::loss_and_gradient(Ops& ops) const {
  draw_and_march(ops);
  find_visible(ops);
  shade(ops);
  loss(ops, loss_kind(c_.loss));
  propagate(ops);
  add_points(ops);
}

void VoxelStep::picture(Ops& ops) const {
  draw_and_march(ops);
  find_visible(ops);
  shade(ops);
  composite(ops);
}

// A row's numbers have one step count.
void VoxelStep::update(Ops& ops) const {
  const double corners = 8.0 * double(samples.usual());  // of the samples' cells
  for (size_t k = 0; k < 2; ++k) {
    const int64_t all = size_of(int(k)), group = all / rows_;
    adam(ops, k == density ? &StepNumbers::table : &StepNumbers::networks, part_.of(k, all), group,
         {parameters[k], gradient[k], m[k], v[k], steps[k]}, untouched_percent(all, group, corners));
  }
}

void VoxelStep::draw_and_march(Ops& ops) const {
  draw(ops, {c_.background, c_.pixel_point});
  ops.call<VoxelMarch>({.rays = rays, .grid = grid_, .capacity = room.marched},
                       {.origins = origins,
                        .directions = directions,
                        .box = several(&StepNumbers::box),
                        .occupancy = bits,
                        .ray_begin = ray_begin,
                        .t = t,
                        .delta = delta});
}

// Evaluates the densities of rays from the front, until each ray is opaque.
void VoxelStep::find_visible(Ops& ops) const {
  begin_passes(ops);
  for (size_t k = 0; k < passes.size(); ++k) {
    place(ops, passes[k]);
    evaluate(ops, " densities", 0, passes[k].samples, passes[k].positions, densities_[k]);
    limit(ops, passes[k], densities_[k]);
  }
  keep_visible(ops, 3 * grid_);
}

void VoxelStep::shade(Ops& ops) const { evaluate(ops, " colors", c_.basis(), samples, positions, raw); }

// The tables' gradients are large and mostly zero; values that are not finite come from those of the samples.
void VoxelStep::propagate(Ops& ops) const {
  const Handle<int32_t> first = several(&StepNumbers::not_finite);
  ops.call<AllFinite>({.n = samples}, {.p = d_raw, .first = first});
  ops.call<AllFinite>({.n = samples.times(3)}, {.p = d_rgb, .first = first.from(1)});
  scatter(ops, c_.basis(), samples, positions, d_raw);
}

void VoxelStep::add_points(Ops& ops) const {
  constexpr int64_t n = 4 * kTermPoints;
  loss_at_points(
      ops, [&] { evaluate(ops, {}, 0, n, point_positions, point_raw); },
      [&] { scatter(ops, 0, n, point_positions, d_point_raw); });
}

void VoxelStep::evaluate(Ops& ops, std::string_view suffix, int64_t basis, const Count& count,
                         const Handle<float>& at, const Handle<float>& to) const {
  if (held_ >= 0) {
    ops.call<VoxelShNarrowFwd>({.n = count, .grid = grid_, .rows = rows_, .basis = basis, .format = held_},
                               {.positions = at,
                                .directions = sample_directions,
                                .links = links,
                                .empty = number(&StepNumbers::empty),
                                .density = few_densities,
                                .halves = halves,
                                .bytes = bytes,
                                .factors = factors,
                                .raw = to,
                                .rgb = rgb},
                               suffix);
    return;
  }
  ops.call<VoxelShFwd>({.n = count, .grid = grid_, .rows = rows_, .basis = basis},
                       {.positions = at,
                        .directions = sample_directions,
                        .links = links,
                        .empty = number(&StepNumbers::empty),
                        .density = parameters[density],
                        .coefficients = parameters[coefficients],
                        .raw = to,
                        .rgb = rgb},
                       suffix);
}

void VoxelStep::scatter(Ops& ops, int64_t basis, const Count& count, const Handle<float>& at,
                        const Handle<float>& d_densities) const {
  ops.call<VoxelShBwd>({.n = count, .grid = grid_, .rows = rows_, .basis = basis},
                       {.positions = at,
                        .directions = sample_directions,
                        .links = links,
                        .empty = number(&StepNumbers::empty),
                        .density = parameters[density],
                        .coefficients = parameters[coefficients],
                        .rgb = rgb,
                        .d_raw = d_densities,
                        .d_rgb = d_rgb,
                        .d_density = gradient[density],
                        .d_coefficients = gradient[coefficients]});
}

namespace {

const PlannedProgramRegistrar program({
    .name = "the trainer of voxels",
    .ops = with_ops_of_terms(
        op_names<DrawRays, VoxelMarch, SampleBegin, PlaceSamples, VoxelShFwd, VisibleLimit, RayWeights,
                 SpreadSamples, CompositeFwd, PixelLossFwd, PixelLossBwd, CompositeBwd, CompositeLossBwd,
                 WeightedSum, AllFinite, VoxelShBwd, Adam, Axpy, VoxelShNarrowFwd>()),
    .fused = std::string(CompositeLossBwd::name),
    .parts = op_names<CompositeFwd, PixelLossFwd, PixelLossBwd, CompositeBwd>(),
});

/// Returns the typical rows after pruning of the finest grid, for a scene with surfaces: some cells on each
/// side of them.
int64_t usual_rows(const VoxelConfig& c) { return std::min(c.max_rows, 10 * c.grid * c.grid); }

}  // namespace

std::vector<PlannedCall> voxel_calls(const VoxelConfig& c, bool training, int64_t stretch,
                                     Storage precision) {
  Memory memory;
  StepSizes sizes;
  sizes.stretch = stretch;
  const VoxelStep step(
      memory, c, c.grid, usual_rows(c),
      {.views = 1, .pixels = training ? c.batch_samples : 0, .depth = training && needs(c, Term::true_depth)},
      sizes, {}, precision);
  MeasureOps measured(memory);
  if (training) {
    step.loss_and_gradient(measured);
    step.update(measured);
  } else {
    step.picture(measured);
  }
  return measured.deciding();
}

}  // namespace klab
