#include "labs/radiance/field/occupancy.h"

#include <algorithm>
#include <bit>

namespace klab {
namespace {

// Returns every third bit of a Morton index, counted from `axis`: the inverse of interleaving.
uint32_t coordinate(uint32_t morton, int axis) {
  uint32_t v = morton >> axis & 0x09249249U;
  v = (v | v >> 2) & 0x030C30C3U;
  v = (v | v >> 4) & 0x0300F00FU;
  v = (v | v >> 8) & 0x030000FFU;
  return (v | v >> 16) & 0x3FFU;
}

}  // namespace

Occupancy::Occupancy(const Model& model)
    : grid_(model.config.grid), cells_(grid_ * grid_ * grid_), values_(model.placement.cascades * cells_) {}

double Occupancy::leave_out_unseen(const Scene& scene) {
  const auto grid = float(grid_);
  int64_t unseen = 0;
#pragma omp parallel for schedule(dynamic, 4096) reduction(+ : unseen)
  for (int64_t i = 0; i < values_.size(); ++i) {
    const float size = float(1 << (i / cells_));
    const auto m = uint32_t(i % cells_);
    const auto along = [&](int axis) {
      return 0.5F + size * ((float(coordinate(m, axis)) + 0.5F) / grid - 0.5F);
    };
    const Vec3 center{along(0), along(1), along(2)};
    const float radius = 0.87F * size / grid;  // half the diagonal of a cell
    bool seen = false;
    for (const View& view : scene.train) {
      const Vec3 p = view.camera.project(center);
      if (p.z < -radius) continue;
      const float margin = view.camera.fx * radius / std::max(p.z, radius);
      // A cell that contains the camera, or is cut by its near plane, counts as seen.
      seen = p.z < 2 * radius || (p.x > -margin && p.x < float(view.camera.width) + margin && p.y > -margin &&
                                  p.y < float(view.camera.height) + margin);
      if (seen) break;
    }
    values_[i] = seen ? 0.F : -1.F;
    unseen += !seen;
  }
  return double(unseen) / double(values_.size());
}

int64_t Occupancy::occupied(const Array<uint8_t>& bits) {
  int64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (int64_t i = 0; i < bits.size(); ++i) count += std::popcount(bits[i]);
  return count;
}

}  // namespace klab
