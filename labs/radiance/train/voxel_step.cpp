#include "labs/radiance/train/voxel_step.h"

#include <fmt/format.h>

#include "labs/radiance/field/config.h"
#include "reference/all_finite/all_finite.h"
#include "reference/voxel_march/voxel_march.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {

VoxelStep::VoxelStep(const VoxelConfig& config, int64_t grid, int64_t rows, const ViewData& data,
                     const StepSizes& sizes, StepPart part)
    : RayStep(t, data, sizes), c_(config), grid_(grid), rows_(rows), part_(std::move(part)) {
  declare({.rays = ray_capacity(c_),
           .marched = march_capacity(c_, grid_),
           .samples = sample_capacity(c_),
           .points = c_.total_variation > 0 ? kVariationPoints : 0});
  declare_tables();
  list_update();
  composite(color);
}

void place(StepNumbers& n, const VoxelModel& model) {
  n.box[0] = model.placement.near;
  n.box[1] = n.volume[0] = model.placement.side();
  n.box[2] = n.volume[1] = model.is_graded() ? 1.0F : 0.0F;
}

void VoxelStep::declare_tables() {
  const char* const names[] = {"density", "coefficients"};
  for (size_t k = 0; k < 2; ++k) {
    const std::string name = names[k];
    const int64_t n = size_of(int(k));
    t.parameters[k] = arena.tensor<float>(name, 1, n);
    t.gradient[k] = arena.tensor<float>("d_" + name, 1, n);
    t.m[k] = arena.tensor<float>(name + ".m", 1, n);
    t.v[k] = arena.tensor<float>(name + ".v", 1, n);
    t.steps[k] = arena.tensor<int32_t>(name + ".steps", 1, rows_);
  }
  t.links = arena.tensor<int32_t>("links", 1, (grid_ + 1) * (grid_ + 1) * (grid_ + 1));
  t.bits = arena.tensor<uint8_t>("cells", 1, grid_ * grid_ * grid_ / 8);
  for (const Look& look : looks_)
    seen_.push_back(arena.tensor<float>(fmt::format("look {} raw", seen_.size()), 1, look.samples));
  raw_ = arena.tensor<float>("raw", 1, t.samples);
  colors_ = arena.product(3, t.samples);
  variation_raw_ = arena.tensor<float>("variation raw", 1, 4 * room_.points);
  d_variation_ = arena.tensor<float>("d_variation", 1, 4 * room_.points);
}

// A row's numbers have one step count.
void VoxelStep::list_update() {
  for (size_t k = 0; k < 2; ++k)
    move(update, k == density ? &StepNumbers::table : &StepNumbers::networks, part_.of(k, size_of(int(k))),
         size_of(int(k)) / rows_, {t.parameters[k], t.gradient[k], t.m[k], t.v[k], t.steps[k]});
}

void VoxelStep::draw_and_march(OpList& list) const {
  draw(list, {c_.background, c_.pixel_point});
  list.add<VoxelMarch>("voxel_march", {.rays = t.rays, .grid = grid_, .capacity = march_capacity(c_, grid_)},
                       {.origins = origins_,
                        .directions = directions_,
                        .box = numbers(&StepNumbers::box),
                        .occupancy = t.bits,
                        .ray_begin = t.ray_begin,
                        .t = t_,
                        .delta = delta_});
}

/// Computes densities, and colors along sample_directions_ if there is a basis.
void VoxelStep::look_at(OpList& list, const std::string& stage, int64_t basis, int64_t samples,
                        const float* positions, float* raw) const {
  list.add<VoxelShFwd>(stage, {.n = samples, .grid = grid_, .rows = rows_, .basis = basis},
                       {.positions = positions,
                        .directions = sample_directions_,
                        .links = t.links,
                        .empty = number(&StepNumbers::empty),
                        .density = t.parameters[density],
                        .coefficients = t.parameters[coefficients],
                        .raw = raw,
                        .rgb = rgb_});
}

// Evaluates the densities of rays from the front, until each ray is opaque.
void VoxelStep::find_visible(OpList& list) const {
  begin_looks(list);
  for (size_t k = 0; k < looks_.size(); ++k) {
    place(list, looks_[k]);
    look_at(list, "voxel_sh_fwd densities", 0, looks_[k].samples, looks_[k].positions, seen_[k]);
    limit(list, looks_[k], seen_[k]);
  }
  count_samples(list, 3 * grid_);
}

void VoxelStep::shade(OpList& list) const {
  look_at(list, "voxel_sh_fwd colors", c_.basis(), t.samples, positions_, raw_);
}

OpList VoxelStep::picture() const {
  OpList list;
  draw_and_march(list);
  find_visible(list);
  shade(list);
  composite(list);
  return list;
}

OpList VoxelStep::loss(bool fused) const {
  OpList list;
  draw_and_march(list);
  find_visible(list);
  shade(list);
  if (fused) {
    lose_fused(list, loss_kind(c_.loss));
  } else {
    lose_pixels(list, loss_kind(c_.loss));
    composite_back(list);
  }
  propagate(list);
  add_variation(list);
  return list;
}

// The tables' gradients are large and mostly zero; values that are not finite come from those of the samples.
void VoxelStep::propagate(OpList& list) const {
  list.add<AllFinite>("all_finite", {.n = t.samples},
                      {.p = d_raw_, .first = numbers(&StepNumbers::not_finite)});
  list.add<AllFinite>("all_finite", {.n = colors_},
                      {.p = d_rgb_, .first = numbers(&StepNumbers::not_finite) + 1});
  list.add<VoxelShBwd>("voxel_sh_bwd", {.n = t.samples, .grid = grid_, .rows = rows_, .basis = c_.basis()},
                       {.positions = positions_,
                        .directions = sample_directions_,
                        .links = t.links,
                        .empty = number(&StepNumbers::empty),
                        .density = t.parameters[density],
                        .coefficients = t.parameters[coefficients],
                        .rgb = rgb_,
                        .d_raw = d_raw_,
                        .d_rgb = d_rgb_,
                        .d_density = t.gradient[density],
                        .d_coefficients = t.gradient[coefficients]});
}

void VoxelStep::add_variation(OpList& list) const {
  if (!(c_.total_variation > 0)) return;
  const std::string stage = "total variation";
  constexpr int64_t n = 4 * kVariationPoints;
  draw_variation(list);
  look_at(list, stage, 0, n, variation_positions_, variation_raw_);
  lose_variation(list, variation_raw_, d_variation_);
  list.add<VoxelShBwd>(stage, {.n = n, .grid = grid_, .rows = rows_, .basis = 0},
                       {.positions = variation_positions_,
                        .directions = sample_directions_,
                        .links = t.links,
                        .empty = number(&StepNumbers::empty),
                        .density = t.parameters[density],
                        .coefficients = t.parameters[coefficients],
                        .rgb = rgb_,
                        .d_raw = d_variation_,
                        .d_rgb = d_rgb_,
                        .d_density = t.gradient[density],
                        .d_coefficients = t.gradient[coefficients]});
}

}  // namespace klab
