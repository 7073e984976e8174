// gs_rasterize_bwd.cpu.02_tiles: one Gaussian after the other over the pixels of a tile.
//
// CHANGE    the loops change places, as in the forward's 02_tiles: a tile's contribution to a Gaussian is
//           summed in registers and stored once a tile, not once a pixel. Only the pixels of its box are
//           visited.
// EXPECT    the chain of additions through memory is gone, and with it the scattered loads.
// NUMERICS  sums over a tile, then over tiles. d_opacity from the sum of d_e: falloff·d_alpha = d_e/opacity.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {
namespace {

constexpr int64_t kTile = GsRasterizeFwd::tile;

struct Tile {
  float T[kTile * kTile], behind[kTile * kTile], h[3][kTile * kTile];
};

/// Sums over pixels: of d_e by powers of dx and dy, and of the colors' gradients.
struct Sums {
  float one = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0, color[3] = {0, 0, 0};
};

Sums add(const GsRecord& g, float left, float top, int64_t width, int64_t height, Tile& tile) {
  const GsReach across = gs_reach(g.x - left, g.half_width, width);
  const GsReach down = gs_reach(g.y - top, g.half_height, height);
  Sums sum;
  for (int64_t row = down.begin; row < down.end; ++row)
    for (int64_t column = across.begin; column < across.end; ++column) {
      const int64_t pixel = row * kTile + column;
      const float T = tile.T[pixel];
      if (T < 0) continue;
      const float dx = g.x - (left + float(column) + 0.5F), dy = g.y - (top + float(row) + 0.5F);
      const float free = g.opacity * std::exp(-0.5F * (g.xx * dx * dx + g.yy * dy * dy) - g.xy * dx * dy);
      const float alpha = std::min(0.99F, free);
      if (alpha < 1.0F / 255) continue;
      const float through = T * (1 - alpha);
      tile.T[pixel] = through < 1e-4F ? -T : through;
      if (through < 1e-4F) continue;
      const float* h[3] = {tile.h[0] + pixel, tile.h[1] + pixel, tile.h[2] + pixel};
      const float shade = g.red * *h[0] + g.green * *h[1] + g.blue * *h[2], weight = T * alpha;
      tile.behind[pixel] -= weight * shade;
      for (int c = 0; c < 3; ++c) sum.color[c] += weight * *h[c];
      if (free > 0.99F) continue;
      const float d_e = alpha * (T * shade - tile.behind[pixel] / (1 - alpha));
      sum.one += d_e;
      sum.x += dx * d_e;
      sum.y += dy * d_e;
      sum.xx += dx * dx * d_e;
      sum.xy += dx * dy * d_e;
      sum.yy += dy * dy * d_e;
    }
  return sum;
}

void set_down(const GsRasterizeBwd::Args<float>& x, int64_t i, const GsRecord& g, const Sums& sum) {
  const int64_t n = x.shape.n;
  if (g.opacity > 0) x.d_opacity[i] += sum.one / g.opacity;
  x.d_mean[i] -= g.xx * sum.x + g.xy * sum.y;
  x.d_mean[n + i] -= g.yy * sum.y + g.xy * sum.x;
  x.d_conic[i] -= 0.5F * sum.xx;
  x.d_conic[n + i] -= sum.xy;
  x.d_conic[2 * n + i] -= 0.5F * sum.yy;
  for (int64_t c = 0; c < 3; ++c) x.d_color[c * n + i] += sum.color[c];
}

void walk(const GsRasterizeBwd::Args<float>& x, const GsRecord* records, int64_t t) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t left = t % s.columns() * kTile, top = t / s.columns() * kTile, plane = s.width * s.height;
  const int64_t width = std::min(kTile, s.width - left), height = std::min(kTile, s.height - top);
  Tile tile{};
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const int64_t to = row * kTile + column, from = (top + row) * s.width + left + column;
      tile.T[to] = 1;
      for (int c = 0; c < 3; ++c) {
        tile.h[c][to] = x.d_image[c * plane + from];
        tile.behind[to] += x.image[c * plane + from] * tile.h[c][to];
      }
    }
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1]; ++k) {
    const GsRecord& g = records[x.id[k]];
    set_down(x, x.id[k], g, add(g, float(left), float(top), width, height, tile));
  }
}

void run(const GsRasterizeBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  std::fill_n(x.d_mean, 2 * n, 0.0F);
  std::fill_n(x.d_conic, 3 * n, 0.0F);
  std::fill_n(x.d_opacity, n, 0.0F);
  std::fill_n(x.d_color, 3 * n, 0.0F);
  std::vector<GsRecord> records(static_cast<size_t>(n));
  for (int64_t g = 0; g < n; ++g) records[size_t(g)] = gs_record(x, g);
  for (int64_t t = 0; t < x.shape.tiles(); ++t) walk(x, records.data(), t);
}

KLAB_VARIANT(GsRasterizeBwd, {.run = run,
                              .parent = "01_pixels",
                              .forward = "02_tiles",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {kTile},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 2}});

}  // namespace
}  // namespace klab
