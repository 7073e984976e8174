#include "labs/radiance/splat/gaussians.h"

#include <algorithm>
#include <cmath>

#include "harness/program/counted_bytes.h"
#include "harness/program/random.h"
#include "reference/graded_grid.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"

namespace klab {
namespace {

constexpr uint64_t kPlaces = 300, kTurns = 301, kColors = 302;  // purposes of random draws
constexpr float kNear = 0.02F;                                  // grid units of the unit cube

/// Moves Gaussian i out of the unit cube by the graded grid's mapping (graded_grid.h), and enlarges it as
/// cells are enlarged there.
void move_outwards(GaussianSet& set, int64_t i, float side) {
  constexpr int32_t kCells = 1 << 20;
  const GradedGrid graded = GradedGrid::of(double(side), true);
  float stretch = 0;  // logarithm
  for (int64_t axis = 0; axis < 3; ++axis) {
    float& p = set.position[size_t(axis * set.n + i)];
    const auto k = std::clamp(int32_t(p * float(kCells)), 0, kCells - 1);
    const auto plane = [&](int32_t at) {
      return graded.even() ? side * (float(at) / float(kCells) - 0.5F) : graded.plane<float>(at, kCells);
    };
    p = 0.5F + plane(k);
    stretch += std::log((plane(k + 1) - plane(k)) * float(kCells)) / 3;
  }
  for (int64_t axis = 0; axis < 3; ++axis) set.log_scale[size_t(axis * set.n + i)] += stretch;
}

}  // namespace

GaussianSet GaussianSet::zeros(int64_t n, int degree) {
  GaussianSet set;
  set.n = n;
  set.degree = degree;
  const auto numbers = set.numbers();
  size_t k = 0;
  for (std::vector<float>* tensor : set.tensors()) tensor->assign(size_t(numbers[k++] * n), 0.0F);
  return set;
}

int64_t GaussianSet::bytes() const {
  int64_t each = 0;
  for (const int64_t numbers_of_one : numbers()) each += numbers_of_one;
  return each * n * int64_t(sizeof(float));
}

int64_t GaussianSet::held_bytes() const {
  return reserved_bytes(position, log_scale, quaternion, opacity_raw, coefficients);
}

GaussianSet random_gaussians(int64_t n, int degree, uint64_t seed, float side) {
  GaussianSet set = GaussianSet::zeros(n, degree);
  const Draws places(seed, 0, kPlaces), turns(seed, 0, kTurns), colors(seed, 0, kColors);
  // The three nearest of evenly spread points are 0.7 n^(-1/3) away on average.
  const float size = std::log(0.7F / std::cbrt(float(std::max<int64_t>(n, 1))));
  for (int64_t i = 0; i < 3 * n; ++i) {
    set.position[size_t(i)] = places.unit(uint64_t(i));
    set.log_scale[size_t(i)] = size;
    set.coefficients[size_t(i)] = 0.2F * (colors.unit(uint64_t(i)) - 0.5F);
  }
  for (int64_t i = 0; i < 4 * n; ++i)
    set.quaternion[size_t(i)] = turns.unit(uint64_t(i)) - 0.5F + (i < n ? 1.0F : 0.0F);
  for (float& raw : set.opacity_raw) raw = std::log(0.1F / 0.9F);
  for (int64_t i = 0; side > 1 && i < n; i += 2) move_outwards(set, i, side);
  return set;
}

GaussianSet gathered(GaussianSet& set, std::span<const int64_t> from) {
  GaussianSet out = GaussianSet::zeros(int64_t(from.size()), set.degree);
  out.antialiased = set.antialiased;
  const auto numbers = set.numbers();
  for (size_t k = 0; k < GaussianSet::kTensors; ++k) {
    const float* source = set.tensors()[k]->data();
    float* target = out.tensors()[k]->data();
    for (int64_t row = 0; row < numbers[k]; ++row)
      for (int64_t i = 0; i < out.n; ++i) target[row * out.n + i] = source[row * set.n + from[size_t(i)]];
  }
  return out;
}

std::array<float, 17> projection_of(const Camera& camera) {
  using C = GsProjectFwd::Camera;
  std::array<float, 17> out{};
  // Our cameras look along -z with +y up; the projection looks along z with y down.
  const Vec3 rows[3] = {camera.axis(0), -1.0F * camera.axis(1), -1.0F * camera.axis(2)};
  for (size_t r = 0; r < 3; ++r) {
    out[C::rotation + 3 * r] = rows[r].x;
    out[C::rotation + 3 * r + 1] = rows[r].y;
    out[C::rotation + 3 * r + 2] = rows[r].z;
    out[C::translation + r] = -dot(rows[r], camera.position());
  }
  out[C::fx] = camera.fx, out[C::fy] = camera.fy, out[C::cx] = camera.cx, out[C::cy] = camera.cy;
  out[C::near] = kNear;
  return out;
}

}  // namespace klab
