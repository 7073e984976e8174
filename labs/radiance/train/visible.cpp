#include "labs/radiance/train/visible.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace klab {
namespace {

// Where each look at a ray begins and the last one ends. A surface lies a few cells of the occupancy grid behind the
// first occupied one.
constexpr int32_t kBorders[] = {0, 8, 24, INT32_MAX};
constexpr int32_t kShort = 8;  // samples that most rays have at most: what is copied in one go

}  // namespace

VisibleSamples::VisibleSamples(const Model& model, Profile& profile, int64_t max_rays, int64_t max_samples)
    : model_(model),
      profile_(profile),
      optical_depth_(max_rays),
      visible_(max_rays),
      visible_begin_(max_rays + 1) {
  for (Look& look : looks_) {
    // A little more than is used: copies of fixed length reach over the end.
    look.positions = Array<float>(3 * max_samples + kShort);
    look.features = Array<float>(model.encoded() * max_samples + kShort);
    look.geometry = Array<float>(model.config.geometry_features * max_samples + kShort);
    look.begin = Array<int32_t>(max_rays + 1);
  }
}

void VisibleSamples::look(int which, const std::array<const float*, 3>& parameters, Field& field,
                          const RayBatch& b) {
  Look& look = looks_[size_t(which)];
  const auto limit = float(-std::log(std::max(model_.config.early_stop, 1e-30)));
  const float inverse_side = 1.0F / model_.placement.side();
  // Samples [first, first + count) of each ray belong to this look, if it is not opaque by then.
  const int32_t first = kBorders[which], end = kBorders[which + 1];
  const auto count = [&](int64_t r) {
    const int32_t all = b.ray_begin[r + 1] - b.ray_begin[r];
    if (which > 0 && (visible_[r] < first || optical_depth_[r] > limit)) return 0;
    return std::min(all, end) - first;
  };
  profile_.time("samples", [&] {
    look.begin[0] = 0;
    for (int64_t r = 0; r < b.rays; ++r) look.begin[r + 1] = look.begin[r] + count(r);
    look.n = look.begin[b.rays];
#pragma omp parallel for schedule(static, 64)
    for (int64_t r = 0; r < b.rays; ++r) {
      const float* t = b.t.data() + b.ray_begin[r] + first;
      for (int axis = 0; axis < 3; ++axis) {
        const float o = b.origins[axis * b.rays + r], d = b.directions[axis * b.rays + r];
        float* out = look.positions.data() + axis * look.n + look.begin[r];
        for (int32_t i = 0; i < look.begin[r + 1] - look.begin[r]; ++i)
          out[i] = std::clamp(0.5F + (o + t[i] * d - 0.5F) * inverse_side, 0.0F, 1.0F);
      }
    }
  });
  field.density(parameters[size_t(Part::table)], parameters[size_t(Part::density)], look.positions.data(),
                look.n, look.features.data(), look.geometry.data());
  profile_.time("samples", [&] {
#pragma omp parallel for schedule(static, 64)
    for (int64_t r = 0; r < b.rays; ++r) {
      float depth = which == 0 ? 0 : optical_depth_[r];
      const float* raw = look.geometry.data() + look.begin[r];
      const float* delta = b.delta.data() + b.ray_begin[r] + first;
      const int32_t n = look.begin[r + 1] - look.begin[r];
      int32_t i = 0;
      for (; i < n && depth <= limit; ++i) depth += std::exp(raw[i]) * delta[i];
      visible_[r] = i + (which == 0 ? 0 : visible_[r]);
      optical_depth_[r] = depth;
    }
  });
}

void VisibleSamples::gather(int64_t row_count, Array<float> Look::*rows, int64_t n, float* into) const {
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < row_count; ++row) {
    std::array<const float*, kLooks> from{};
    for (size_t k = 0; k < kLooks; ++k) from[k] = (looks_[k].*rows).data() + row * looks_[k].n;
    float* to = into + row * n;
    for (const int32_t r : hit_) {
      const int32_t at = visible_begin_[r], count = visible_[r];
      // Short runs, many of them: a copy of fixed length takes one or two instructions. What it writes too much, the
      // next ray writes over, if there is room for a next ray.
      if (at + kShort <= n)
        std::memcpy(to + at, from[0] + looks_[0].begin[r], kShort * sizeof(float));
      else
        std::memcpy(to + at, from[0] + looks_[0].begin[r], size_t(std::min(count, kShort)) * sizeof(float));
      for (size_t k = 1; k < kLooks && count > kBorders[k]; ++k)
        std::memcpy(to + at + kBorders[k], from[k] + looks_[k].begin[r],
                    size_t(std::min(count, kBorders[k + 1]) - kBorders[k]) * sizeof(float));
    }
  }
}

void VisibleSamples::keep(const std::array<const float*, 3>& parameters, Field& field, RayBatch& b) {
  for (int which = 0; which < int(kLooks); ++which) look(which, parameters, field, b);
  profile_.time("samples", [&] {
    visible_begin_[0] = 0;
    for (int64_t r = 0; r < b.rays; ++r) visible_begin_[r + 1] = visible_begin_[r] + visible_[r];
    const int64_t n = visible_begin_[b.rays];
    hit_.clear();
    for (int64_t r = 0; r < b.rays; ++r)
      if (visible_[r] > 0) hit_.push_back(int32_t(r));
    gather(3, &Look::positions, n, b.positions.data());
    gather(model_.encoded(), &Look::features, n, field.features());
    gather(model_.config.geometry_features, &Look::geometry, n, field.geometry(n));
    // In place: a ray's new place is never behind its old one.
    for (const int32_t r : hit_)
      for (float* row : {b.t.data(), b.delta.data()})
        std::memmove(row + visible_begin_[r], row + b.ray_begin[r], size_t(visible_[r]) * sizeof(float));
    std::copy_n(visible_begin_.data(), b.rays + 1, b.ray_begin.data());
    b.samples = n;
  });
}

void shade(const std::array<const float*, 3>& parameters, Profile& profile, VisibleSamples& visible,
           Field& field, RayBatch& b) {
  visible.keep(parameters, field, b);
  profile.time("samples", [&] { spread_directions(b); });
  field.color(parameters[size_t(Part::color)], b.sample_directions.data(), b.samples);
}

}  // namespace klab
