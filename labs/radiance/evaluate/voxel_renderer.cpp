#include "labs/radiance/evaluate/voxel_renderer.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

// A stretch has at most as many rays as visible samples. Rays that do not fit go into the next stretch.
VoxelConfig config_of_voxel_renderer(const VoxelModel& model, const BackendChoice& where) {
  VoxelConfig c = model.config;
  c.batch_samples = c.first_rays = std::max(where.picture_samples, 3 * model.grid);
  c.background = model.placement.black ? "black" : "white";
  return c;
}

StepNumbers numbers_of(const VoxelModel& model) {
  StepNumbers n;
  place(n, model);
  n.empty = float(model.config.empty);
  n.stop = float(-std::log(std::max(model.config.early_stop, 1e-30)));
  return n;
}

}  // namespace

int64_t VoxelRenderer::bytes_of(const VoxelModel& model, const BackendChoice& where) {
  Memory memory;
  const VoxelStep programs(memory, config_of_voxel_renderer(model, where), model.grid, model.rows(),
                           {.views = 1}, where.sizes, {}, model.precision);
  MeasureOps measured(memory);
  programs.picture(measured);
  const int64_t own = where.ladder == "cpu" ? model.bytes() : 0;
  return std::max<int64_t>(1, measured.bytes_used() - own);
}

VoxelRenderer::VoxelRenderer(const VoxelModel& model, const Plan& plan, const BackendChoice& where)
    : plan_(plan),
      config_(config_of_voxel_renderer(model, where)),
      memory_(where.backend),
      programs_(memory_, config_, model.grid, model.rows(), {.views = 1}, where.sizes, {}, model.precision),
      pictures_(
          memory_, programs_, [this](Ops& ops) { programs_.picture(ops); }, numbers_of(model),
          VoxelStep::ray_capacity(config_) - 1) {
  if (model.precision == Storage::f32) {
    memory_.mirror(programs_.parameters[VoxelStep::density], model.density.data());
    memory_.mirror(programs_.parameters[VoxelStep::coefficients], model.coefficients.data());
  } else {
    memory_.mirror(programs_.few_densities, model.few_densities.halves.data());
    if (model.precision == Storage::int8) {
      memory_.mirror(programs_.bytes, model.few_coefficients.bytes.data());
      memory_.mirror(programs_.factors, model.few_coefficients.factors.data());
    } else {
      memory_.mirror(programs_.halves, model.few_coefficients.halves.data());
    }
  }
  memory_.mirror(programs_.links, model.links.data());
  memory_.mirror(programs_.bits, model.occupancy.data());
  pictures_.begin();
}

}  // namespace klab
