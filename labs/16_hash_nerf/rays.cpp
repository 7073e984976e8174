#include "labs/16_hash_nerf/rays.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace klab {
namespace {

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

// How many samples of each ray lie in front of the point where it has become opaque; their sum.
int64_t count_visible(const Model& model, const float* raw, const RayBatch& b, std::vector<int32_t>& begin) {
  const auto limit = float(-std::log(std::max(model.config.early_stop, 1e-30)));
  begin.assign(size_t(b.rays) + 1, 0);
#pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < b.rays; ++r) {
    float depth = 0;
    int64_t i = b.ray_begin[r];
    while (i < b.ray_begin[r + 1] && depth <= limit) {
      depth += std::exp(raw[i]) * b.delta[i];
      ++i;
    }
    begin[size_t(r) + 1] = int32_t(i - b.ray_begin[r]);
  }
  for (size_t r = 0; r < size_t(b.rays); ++r) begin[r + 1] += begin[r];
  return begin.back();
}

// Moves row by row, each ray's kept samples towards the front. In place: a row's new place is never behind
// its old one, and rows are taken in order. Threads take whole rows only where old and new places cannot
// overlap.
void compact_rows(float* rows, int64_t count, int64_t old_n, int64_t new_n, const RayBatch& b,
                  const std::vector<int32_t>& begin, std::vector<float>& scratch) {
  scratch.resize(size_t(count * new_n));
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < count; ++row) {
    const float* from = rows + row * old_n;
    float* to = scratch.data() + row * new_n;
    for (int64_t r = 0; r < b.rays; ++r) {
      const auto kept = size_t(begin[size_t(r) + 1] - begin[size_t(r)]);
      std::memcpy(to + begin[size_t(r)], from + b.ray_begin[r], kept * sizeof(float));
    }
  }
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < count; ++row)
    std::memcpy(rows + row * new_n, scratch.data() + row * new_n, size_t(new_n) * sizeof(float));
}

void compact(const Model& model, Field& field, RayBatch& b) {
  static thread_local std::vector<int32_t> begin;
  static thread_local std::vector<float> scratch;
  const int64_t old_n = b.samples;
  const int64_t n = count_visible(model, field.geometry(old_n), b, begin);
  if (n == old_n) return;
  const int64_t geometry = model.config.geometry_features;
  // The geometry rows follow the directional ones, whose number of elements shrinks too: two different
  // places.
  float* old_geometry = field.geometry(old_n);
  compact_rows(old_geometry, geometry, old_n, n, b, begin, scratch);
  std::memmove(field.geometry(n), old_geometry, size_t(geometry * n) * sizeof(float));
  compact_rows(field.features(), model.encoded(), old_n, n, b, begin, scratch);
  compact_rows(b.positions.data(), 3, old_n, n, b, begin, scratch);
  compact_rows(b.t.data(), 1, old_n, n, b, begin, scratch);
  compact_rows(b.delta.data(), 1, old_n, n, b, begin, scratch);
  std::copy(begin.begin(), begin.end(), b.ray_begin.begin());
  b.samples = n;
}

void spread_directions(RayBatch& b) {
#pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < b.rays; ++r)
    for (int axis = 0; axis < 3; ++axis)
      std::fill(b.sample_directions.data() + axis * b.samples + b.ray_begin[r],
                b.sample_directions.data() + axis * b.samples + b.ray_begin[r + 1],
                b.directions[axis * b.rays + r]);
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
  const float steps[4] = {model.placement.near, smallest, smallest * side,
                          model.placement.cascades > 1 ? float(c.cone) : 0.0F};
  const std::array<int64_t, 5> shape = {b.rays, c.grid, model.placement.cascades, c.max_samples_per_ray,
                                        b.max_samples};
  profile.time("ray_march", [&] {
    plan.run("ray_march", shape,
             {b.origins.data(), b.directions.data(), b.jitter.data(), steps, model.occupancy.data(),
              b.ray_begin.data(), b.t.data(), b.delta.data()});
  });
  b.samples = b.ray_begin[b.rays];
  profile.time("samples", [&] { place_samples(model, b); });
}

void shade(const Model& model, const std::array<const float*, 3>& parameters, const Plan& plan,
           Profile& profile, Field& field, RayBatch& b) {
  field.density(parameters[size_t(Part::table)], parameters[size_t(Part::density)], b.positions.data(),
                b.samples);
  profile.time("samples", [&] {
    compact(model, field, b);
    spread_directions(b);
  });
  field.color(parameters[size_t(Part::color)], b.sample_directions.data(), b.samples);
  const std::array<int64_t, 2> shape = {b.rays, b.samples};
  profile.time("composite_fwd", [&] {
    plan.run("composite_fwd", shape,
             {b.ray_begin.data(), field.geometry(b.samples), field.rgb(), b.delta.data(), b.t.data(),
              b.background.data(), b.color.data(), b.opacity.data(), b.depth.data()});
  });
}

}  // namespace klab
