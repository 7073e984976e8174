#include "labs/radiance/evaluate/list_renderer.h"

#include <algorithm>
#include <array>

#include "labs/radiance/train/trainer.h"

namespace klab {
namespace {

// Rays of a stretch that belong to no pixel. They own the samples that pad a batch; a single ray with all of
// them would be slow.
constexpr int64_t kSpare = 1024;

// A stretch has at most as many rays as visible samples. Rays that do not fit go into the next stretch.
Config config_of(const Model& model, const BackendChoice& where) {
  Config c = model.config;
  c.batch_samples = c.first_rays = std::max({where.picture_samples, c.max_samples_per_ray, 2 * kSpare});
  c.background = model.placement.black ? "black" : "white";
  return c;
}

// Copies arrays into the backend's memory, or uses them in place.
void tie(Runner& runner, const StepTensors& t, const Model& model) {
  for (const Part part : kParts)
    runner.mirror(t.parameters[size_t(part)], const_cast<float*>(model.of(part).data()));
  runner.mirror(t.bits, const_cast<uint8_t*>(model.occupancy.data()));
  if (t.sizes == nullptr) return;
  runner.mirror(t.scales, const_cast<float*>(model.scales.data()));
  runner.mirror(t.sizes, const_cast<int64_t*>(model.sizes.data()));
}

}  // namespace

ListRenderer::ListRenderer(const Model& model, const Plan& plan, const BackendChoice& where)
    : plan_(plan),
      config_(config_of(model, where)),
      lists_(config_, model.placement.cascades, {.views = 1}, where.sizes),
      list_(lists_.picture()),
      pictures_(lists_.arena, list_,
                {lists_.t.views.cameras, lists_.t.views.places, lists_.t.numbers, lists_.t.color,
                 lists_.t.opacity, lists_.t.depth, lists_.t.rays},
                marching_numbers(config_, model.placement), TrainStep::ray_capacity(config_) - kSpare,
                where.backend) {
  tie(pictures_.runner(), lists_.t, model);
  pictures_.begin();
}

std::vector<PlannedCall> ListRenderer::calls(const Model& model, const BackendChoice& where) {
  return picture_calls(config_of(model, where), model.placement.cascades);
}

int64_t ListRenderer::bytes_of(const Model& model, const BackendChoice& where) {
  const TrainStep lists(config_of(model, where), model.placement.cascades, {.views = 1}, where.sizes);
  const OpList picture = lists.picture();
  const std::array<const OpList*, 1> used = {&picture};
  return Runner::bytes_of(lists.arena, used);
}

}  // namespace klab
