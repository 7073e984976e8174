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

VoxelRenderer::VoxelRenderer(const VoxelModel& model, const Plan& plan, const BackendChoice& where)
    : plan_(plan),
      config_(config_of_voxel_renderer(model, where)),
      lists_(config_, model.grid, model.rows(), {.views = 1}, where.sizes),
      list_(lists_.picture()),
      pictures_(lists_.arena, list_,
                {lists_.t.views.cameras, lists_.t.views.places, lists_.t.numbers, lists_.t.color,
                 lists_.t.opacity, lists_.t.depth, lists_.t.rays},
                numbers_of(model), VoxelStep::ray_capacity(config_) - 1, where.backend) {
  Runner& runner = pictures_.runner();
  runner.mirror(lists_.t.parameters[VoxelStep::density], model.density.data());
  runner.mirror(lists_.t.parameters[VoxelStep::coefficients], model.coefficients.data());
  runner.mirror(lists_.t.links, model.links.data());
  runner.mirror(lists_.t.bits, model.occupancy.data());
  pictures_.begin();
}

}  // namespace klab
