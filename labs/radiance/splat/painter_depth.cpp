// Depth of Gaussians: the same walk through a tile's list as the rasterizer's, with distances in place of colors.
#include <algorithm>
#include <cmath>

#include "labs/radiance/splat/painter.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {
namespace {

constexpr float kMedian = 0.5F;  // transmittance at the median depth

/// A Gaussian of a tile, at the distance of its center from the camera.
struct Listed {
  float x, y, xx, xy, yy, opacity, distance;
};

struct PixelDepth {
  float expected = 0, median = 0;
};

PixelDepth depth_at(const std::vector<Listed>& list, float x, float y) {
  PixelDepth out;
  float left = 1;
  for (const Listed& g : list) {
    const float dx = g.x - x, dy = g.y - y;
    const float e = -0.5F * (g.xx * dx * dx + g.yy * dy * dy) - g.xy * dx * dy;
    const float alpha = std::min(float(GsRasterizeFwd::most), g.opacity * std::exp(e));
    if (alpha < float(GsRasterizeFwd::least)) continue;
    const float behind = left * (1 - alpha);
    if (behind < float(GsRasterizeFwd::stop)) break;
    out.expected += left * alpha * g.distance;
    if (left >= kMedian && behind < kMedian) out.median = g.distance;
    left = behind;
  }
  return out;
}

}  // namespace

void Painter::add_depth(const GaussianSet& set, Picture& picture) const {
  const GsRasterizeFwd::Shape shape{set.n, int64_t(id_.size()), width_, height_};
  constexpr int64_t kTile = GsRasterizeFwd::tile;
  const size_t n = size_t(set.n), pixels = size_t(width_) * size_t(height_);
  picture.depth.assign(pixels, 0.0F);
  picture.median_depth.assign(pixels, 0.0F);
#pragma omp parallel for schedule(dynamic)
  for (int64_t tile = 0; tile < shape.tiles(); ++tile) {
    std::vector<Listed> list;
    for (int32_t k = tile_begin_[size_t(tile)]; k < tile_begin_[size_t(tile) + 1]; ++k) {
      const auto g = size_t(id_[size_t(k)]);
      const Vec3 away{set.position[g] - eye_[0], set.position[n + g] - eye_[1],
                      set.position[2 * n + g] - eye_[2]};
      list.push_back(
          {mean_[g], mean_[n + g], conic_[g], conic_[n + g], conic_[2 * n + g], opacity_[g], length(away)});
    }
    const int64_t top = tile / shape.columns() * kTile, first = tile % shape.columns() * kTile;
    for (int64_t row = top; row < std::min<int64_t>(top + kTile, height_); ++row)
      for (int64_t column = first; column < std::min<int64_t>(first + kTile, width_); ++column) {
        const PixelDepth depth = depth_at(list, float(column) + 0.5F, float(row) + 0.5F);
        const auto at = size_t(row * width_ + column);
        picture.depth[at] = depth.expected;
        picture.median_depth[at] = depth.median;
      }
  }
}

}  // namespace klab
