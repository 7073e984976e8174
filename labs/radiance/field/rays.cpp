#include "labs/radiance/field/rays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reference/composite_fwd/composite_fwd.h"
#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"
#include "reference/ray_march/ray_march.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

PlannedCall planned_network(const MlpFwd::Shape& s, const std::string& size, double times,
                            Storage precision) {
  if (precision == Storage::f32) return planned<MlpFwd>(s, size, times);
  return planned<MlpNarrowFwd>(narrow_shape(s, precision), size, times);
}

}  // namespace

RayBatch::RayBatch(const Model&, int64_t most_rays, int64_t most_samples)
    : max_rays(most_rays),
      max_samples(most_samples),
      origins(3 * most_rays),
      directions(3 * most_rays),
      jitter(most_rays),
      ray_begin(most_rays + 1),
      t(most_samples),
      delta(most_samples),
      positions(3 * most_samples),
      sample_directions(3 * most_samples),
      background(3 * most_rays),
      color(3 * most_rays),
      opacity(most_rays),
      depth(most_rays) {}

int64_t RayBatch::bytes_of(int64_t max_rays, int64_t max_samples) {
  return 4 * (16 * max_rays + 8 * max_samples);
}

void march(const Model& model, const Plan& plan, Profile& profile, RayBatch& b) {
  const Config& c = model.config;
  const float side = model.placement.side();
  const float smallest = std::sqrt(3.0F) / float(c.steps_per_diagonal);
  const float steps[5] = {model.placement.near, smallest, smallest * side,
                          model.placement.cascades > 1 ? float(c.cone) : 0.0F, model.placement.far};
  const RayMarch::Shape shape = {.rays = b.rays,
                                 .grid = c.grid,
                                 .cascades = model.placement.cascades,
                                 .max_samples = c.max_samples_per_ray,
                                 .capacity = b.max_samples};
  profile.time("ray_march", [&] {
    plan.run<RayMarch>({.shape = shape,
                        .origins = b.origins.data(),
                        .directions = b.directions.data(),
                        .jitter = b.jitter.data(),
                        .steps = steps,
                        .occupancy = model.occupancy.data(),
                        .ray_begin = b.ray_begin.data(),
                        .t = b.t.data(),
                        .delta = b.delta.data()});
  });
  b.samples = b.ray_begin[b.rays];
}

int64_t whole_rays(const RayBatch& b, int64_t max_samples_per_ray) {
  if (b.samples + max_samples_per_ray <= b.max_samples) return b.rays;
  int64_t count = b.rays;
  while (count > 0 && b.ray_begin[count - 1] == b.samples) --count;
  return count;
}

void keep_rays(RayBatch& b, int64_t count) {
  // The rows of [3, rays] move in order; a row's new place never lies behind its old one, so nothing is
  // overwritten.
  for (const Array<float>* rows : {&b.origins, &b.directions, &b.background})
    for (int64_t axis = 1; axis < 3; ++axis)
      std::memmove(rows->data() + axis * count, rows->data() + axis * b.rays, size_t(count) * sizeof(float));
  b.rays = count;
  b.samples = b.ray_begin[count];
}

void place_samples(const Model& model, RayBatch& b) {
  const float inverse_side = 1.0F / model.placement.side();
#pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < b.rays; ++r) {
    for (int axis = 0; axis < 3; ++axis) {
      const float o = b.origins[axis * b.rays + r], d = b.directions[axis * b.rays + r];
      float* out = b.positions.data() + axis * b.samples;
      for (int64_t i = b.ray_begin[r]; i < b.ray_begin[r + 1]; ++i)
        out[i] = std::clamp(0.5F + (o + b.t[i] * d - 0.5F) * inverse_side, 0.0F, 1.0F);
    }
  }
}

void spread_directions(RayBatch& b) {
#pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < b.rays; ++r)
    for (int axis = 0; axis < 3; ++axis)
      std::fill(b.sample_directions.data() + axis * b.samples + b.ray_begin[r],
                b.sample_directions.data() + axis * b.samples + b.ray_begin[r + 1],
                b.directions[axis * b.rays + r]);
}

std::vector<PlannedCall> shading_calls(const Config& c, int cascades, int64_t rays, int64_t samples,
                                       int64_t capacity, double times, Storage precision) {
  const std::string all = fmt::format("{} samples", samples), beams = fmt::format("{} rays", rays);
  std::vector<PlannedCall> calls = {
      planned<RayMarch>({.rays = rays,
                         .grid = c.grid,
                         .cascades = cascades,
                         .max_samples = c.max_samples_per_ray,
                         .capacity = capacity},
                        beams, times),
      planned_lookup(c, cascades, samples, all, times, narrow_format_of(precision)),
      planned_network(density_shape(c, samples), all, times, precision),
      c.directions == "octaves"
          ? planned<FrequencyFwd>({.n = samples, .dim = 3, .octaves = c.direction_octaves}, all, times)
          : planned<ShFwd>({.n = samples, .degree = c.sh_degree}, all, times),
      planned_network(color_shape(c, samples), all, times, precision),
      planned<CompositeFwd>({.rays = rays, .samples = samples}, all + " of " + beams, times)};
  if (precision == Storage::int8)  // one of the two kinds of products is chosen: multiplies_bytes()
    for (const MlpFwd::Shape& network : {density_shape(c, samples), color_shape(c, samples)})
      calls.push_back(planned<MlpInt8Fwd>(network, all, times));
  return calls;
}

void composite(const Plan& plan, Profile& profile, Field& field, RayBatch& b) {
  profile.run<CompositeFwd>("composite_fwd", plan,
                            {.shape = {.rays = b.rays, .samples = b.samples},
                             .ray_begin = b.ray_begin.data(),
                             .density_raw = field.geometry(b.samples),
                             .rgb = field.rgb(),
                             .delta = b.delta.data(),
                             .t = b.t.data(),
                             .background = b.background.data(),
                             .color = b.color.data(),
                             .opacity = b.opacity.data(),
                             .depth = b.depth.data()});
}

}  // namespace klab
