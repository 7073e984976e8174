#include "labs/radiance/evaluate/list_renderer.h"

#include <algorithm>

#include "labs/radiance/train/trainer.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

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

StepFormats formats_of(const Model& model) { return {.held = narrow_format_of(model.precision)}; }

// Copies arrays into the backend's memory, or uses them in place.
void tie(Memory& memory, const TrainStep& step, const Model& model) {
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const NarrowPart& few = model.narrow[p];
    if (model.precision == Storage::f32) {
      memory.mirror(step.parameters[p], model.of(part).data());
    } else if (model.precision == Storage::int8) {
      memory.mirror(step.bytes[p], few.bytes.data());
      memory.mirror(step.factors[p], few.factors.data());
    } else {
      memory.mirror(step.halves[p], few.halves.data());
    }
  }
  memory.mirror(step.bits, const_cast<uint8_t*>(model.occupancy.data()));
  if (!step.level_sizes.exists()) return;
  memory.mirror(step.scales, const_cast<float*>(model.scales.data()));
  memory.mirror(step.level_sizes, const_cast<int64_t*>(model.sizes.data()));
}

}  // namespace

ListRenderer::ListRenderer(const Model& model, const Plan& plan, const BackendChoice& where)
    : plan_(plan),
      placement_(model.placement),
      config_(config_of(model, where)),
      memory_(where.backend),
      programs_(memory_, config_, model.placement.cascades, {.views = 1}, where.sizes, formats_of(model)),
      pictures_(
          memory_, programs_, [this](Ops& ops) { programs_.picture(ops); },
          marching_numbers(config_, model.placement), TrainStep::ray_capacity(config_) - kSpare) {
  tie(memory_, programs_, model);
  pictures_.begin();
}

std::vector<PlannedCall> ListRenderer::calls(const Model& model, const BackendChoice& where) {
  std::vector<PlannedCall> calls =
      picture_calls(config_of(model, where), model.placement.cascades, model.precision);
  // The programs of a list multiply by mlp_narrow_fwd: a plan has no choice between that and products of bytes.
  std::erase_if(calls, [](const PlannedCall& c) { return c.op == MlpInt8Fwd::name; });
  return calls;
}

int64_t ListRenderer::bytes_of(const Model& model, const BackendChoice& where) {
  Memory memory;
  const TrainStep programs(memory, config_of(model, where), model.placement.cascades, {.views = 1},
                           where.sizes, formats_of(model));
  MeasureOps measured(memory);
  programs.picture(measured);
  return measured.bytes_used();
}

}  // namespace klab
