// The calls of a step on voxels at their typical sizes, for a plan.
#include <fmt/format.h>

#include <algorithm>

#include "labs/radiance/field/config.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/step_calls.h"
#include "labs/radiance/train/voxel_step.h"
#include "reference/adam/adam.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/voxel_march/voxel_march.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {
namespace {

const PlannedProgramRegistrar program({
    .name = "the trainer of voxels",
    .ops = {"draw_rays", "voxel_march", "sample_begin", "place_samples", "voxel_sh_fwd", "visible_limit",
            "ray_weights", "spread_samples", "composite_fwd", "pixel_loss_fwd", "pixel_loss_bwd",
            "composite_bwd", "composite_loss_bwd", "weighted_sum", "all_finite", "voxel_sh_bwd", "adam",
            // Only if the config asks for them.
            "variation_points", "axpy", "total_variation_fwd", "total_variation_bwd"},
    .fused = "composite_loss_bwd",
    .parts = {"composite_fwd", "pixel_loss_fwd", "pixel_loss_bwd", "composite_bwd"},
});

/// Returns the typical rows after pruning of the finest grid, for a scene with surfaces: some cells on each
/// side of them.
int64_t usual_rows(const VoxelConfig& c) { return std::min(c.max_rows, 10 * c.grid * c.grid); }

}  // namespace

std::vector<PlannedCall> voxel_calls(const VoxelConfig& c, bool training) {
  // Rays of a pruned grid meet a few cells, and half of the rays none.
  const int64_t samples = c.batch_samples, rays = std::max<int64_t>(1, samples / 4), rows = usual_rows(c);
  const std::string all = fmt::format("{} samples", samples), beams = fmt::format("{} of {} rays", all, rays);
  const VoxelShFwd::Shape colors = {.n = samples, .grid = c.grid, .rows = rows, .basis = c.basis()};
  VoxelShFwd::Shape densities = colors;
  densities.basis = 0;
  densities.n = 2 * samples;
  std::vector<PlannedCall> calls = {
      planned<VoxelMarch>({.rays = rays, .grid = c.grid, .capacity = VoxelStep::march_capacity(c, c.grid)},
                          fmt::format("{} rays", rays)),
      planned<VoxelShFwd>(densities, fmt::format("{} densities", 2 * samples)),
      planned<VoxelShFwd>(colors, all)};
  const VoxelStep step(c, c.grid, rows, {.views = 1, .pixels = training ? samples : 0}, {});
  if (!training) {
    const OpList picture = step.picture();
    add_other_calls(step.arena, {&picture}, rays, samples, calls);
    return calls;
  }
  const auto add = [&](const std::vector<PlannedCall>& more) {
    calls.insert(calls.end(), more.begin(), more.end());
  };
  add({planned<VoxelShBwd>(colors, all), planned<CompositeFwd>({.rays = rays, .samples = samples}, beams),
       planned<CompositeBwd>({.rays = rays, .samples = samples}, beams),
       planned<CompositeLossBwd>({.rays = rays, .samples = samples, .kind = loss_kind(c.loss)}, beams)});
  add(adam_calls(rows, 1));
  add(adam_calls(rows * 3 * c.basis(), 3 * c.basis()));
  const OpList loss = step.loss(false);
  add_other_calls(step.arena, {&loss, &step.update}, rays, samples, calls);
  return calls;
}

}  // namespace klab
