#include "labs/21_realtime/train/baked_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/program/op_names.h"
#include "reference/baked_rays/baked_rays.h"
#include "reference/cell_distance/cell_distance.h"

namespace klab {
namespace {

/// Rounds number n of all rows; `value` gives it as a float.
template <class Value>
void round_number(BakedScene& scene, int64_t n, Value&& value) {
  const int64_t rows = scene.rows(), numbers = 4 * scene.basis;
  float largest = 0;
  for (int64_t r = 0; r < rows; ++r) largest = std::max(largest, std::abs(value(r)));
  const float factor = largest > 0 ? largest / 127 : 1.0F;
  scene.factors[size_t(n)] = factor;
  for (int64_t r = 0; r < rows; ++r)
    scene.table[r * numbers + n] = int8_t(std::lround(std::clamp(value(r) / factor, -127.0F, 127.0F)));
}

}  // namespace

std::vector<PlannedCall> baked_calls(int64_t grid, int64_t rows, int64_t basis) {
  return {planned<CellDistance>({grid}, fmt::format("{}^3 cells", grid)),
          planned<BakedRays>({BakedPixels::kRays, grid, rows, basis},
                             fmt::format("{} rays", BakedPixels::kRays))};
}

BakedScene baked_scene(const VoxelModel& voxels, const Plan& plan) {
  const int64_t basis = voxels.config.basis(), rows = voxels.rows();
  if (voxels.is_graded())
    throw std::runtime_error(
        "holds voxels whose cells grow outwards: train with \"spacing\": \"even\" in the config");
  if (basis > 4)
    throw std::runtime_error(
        "holds voxels with harmonics of degree 2: train with \"sh_degree\": 1 in the config, or 0");
  BakedScene scene{.placement = voxels.placement, .grid = voxels.grid, .basis = basis};
  scene.table = NarrowArray<int8_t>(rows * 4 * basis);
  scene.factors.assign(size_t(4 * basis), 1.0F);
  round_number(scene, 0, [&](int64_t r) { return voxels.density[r]; });
  for (int64_t n = 0; n < 3 * basis; ++n)
    round_number(scene, basis + n, [&](int64_t r) { return voxels.coefficients[r * 3 * basis + n]; });
  scene.links = Array<int32_t>(voxels.links.size());
  std::copy(voxels.links.begin(), voxels.links.end(), scene.links.begin());
  scene.distance = NarrowArray<uint8_t>(scene.grid * scene.grid * scene.grid);
  plan.run<CellDistance>(
      {.shape = {scene.grid}, .occupancy = voxels.occupancy.data(), .distance = scene.distance.data()});
  return scene;
}

BakedPixels::BakedPixels(const BakedScene& scene, Plan plan, double stop)
    : scene_(scene),
      plan_(std::move(plan)),
      settings_{scene.placement.near, scene.placement.side(),
                float(kStep * double(scene.placement.side()) / double(scene.grid)), float(stop)},
      origins_(3 * kRays),
      directions_(3 * kRays),
      color_(3 * kRays),
      opacity_(kRays),
      depth_(kRays) {
  std::fill_n(background_, 3, scene.placement.black ? 0.0F : 1.0F);
}

void BakedPixels::draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out) {
  const auto all = int64_t(pixels.size());
  for (int64_t first = 0; first < all; first += kRays) {
    const int64_t n = std::min(kRays, all - first);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n; ++r) {
      const int32_t pixel = pixels[size_t(first + r)];
      const Ray ray = camera.ray(float(pixel % camera.width) + 0.5F, float(pixel / camera.width) + 0.5F);
      const float o[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
      const float d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
      for (int64_t axis = 0; axis < 3; ++axis)
        origins_[axis * n + r] = o[axis], directions_[axis * n + r] = d[axis];
    }
    plan_.run<BakedRays>({.shape = {n, scene_.grid, scene_.rows(), scene_.basis},
                          .origins = origins_.data(),
                          .directions = directions_.data(),
                          .settings = settings_,
                          .distance = scene_.distance.data(),
                          .links = scene_.links.data(),
                          .table = scene_.table.data(),
                          .factors = scene_.factors.data(),
                          .background = background_,
                          .color = color_.data(),
                          .opacity = opacity_.data(),
                          .depth = depth_.data()});
    for (int64_t r = 0; r < n; ++r) {
      const auto pixel = size_t(pixels[size_t(first + r)]);
      for (size_t c = 0; c < 3; ++c) out.rgb[3 * pixel + c] = color_[int64_t(c) * n + r];
      out.opacity[pixel] = opacity_[r], out.depth[pixel] = depth_[r];
    }
  }
}

namespace {

const PlannedProgramRegistrar program({
    .name = "pictures of a baked scene",
    .ops = op_names<CellDistance, BakedRays>(),
    .fused = "",
    .parts = {},
});

}  // namespace
}  // namespace klab
