// gs_rasterize_fwd.cpu.02_tiles: one Gaussian after the other over the pixels of a tile.
//
// CHANGE    the loops change places: a tile's list is outside, its pixels inside, and of these only those in the box where
//           the Gaussian is at least 1/255. All that is needed of a Gaussian lies in one line of its own.
// EXPECT    as many times faster as a Gaussian's box is smaller than a tile, and one line a Gaussian in place of nine scattered
//           loads a pixel. The state of 256 pixels is 4 KiB: it stays in L1.
// NUMERICS  as the parent. A pixel that ended has its transmittance negated.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {
namespace {

constexpr int64_t kTile = GsRasterizeFwd::tile;

struct Tile {
  float T[kTile * kTile], red[kTile * kTile], green[kTile * kTile], blue[kTile * kTile];
};

/// Returns how many pixels end.
int64_t add(const GsRecord& g, float left, float top, int64_t width, int64_t height, Tile& tile) {
  const GsReach across = gs_reach(g.x - left, g.half_width, width);
  const GsReach down = gs_reach(g.y - top, g.half_height, height);
  int64_t ended = 0;
  for (int64_t row = down.begin; row < down.end; ++row)
    for (int64_t column = across.begin; column < across.end; ++column) {
      const int64_t pixel = row * kTile + column;
      const float T = tile.T[pixel];
      if (T < 0) continue;
      const float dx = g.x - (left + float(column) + 0.5F), dy = g.y - (top + float(row) + 0.5F);
      const float e = -0.5F * (g.xx * dx * dx + g.yy * dy * dy) - g.xy * dx * dy;
      const float alpha = std::min(0.99F, g.opacity * std::exp(e));
      if (alpha < 1.0F / 255) continue;
      const float behind = T * (1 - alpha);
      if (behind < 1e-4F) {
        tile.T[pixel] = -T;
        ++ended;
        continue;
      }
      tile.red[pixel] += T * alpha * g.red;
      tile.green[pixel] += T * alpha * g.green;
      tile.blue[pixel] += T * alpha * g.blue;
      tile.T[pixel] = behind;
    }
  return ended;
}

void draw(const GsRasterizeFwd::Args<float>& x, const GsRecord* records, int64_t t) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t left = t % s.columns() * kTile, top = t / s.columns() * kTile, plane = s.width * s.height;
  const int64_t width = std::min(kTile, s.width - left), height = std::min(kTile, s.height - top);
  Tile tile{};
  std::fill_n(tile.T, kTile * kTile, 1.0F);
  int64_t open = width * height;
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1] && open > 0; ++k)
    open -= add(records[x.id[k]], float(left), float(top), width, height, tile);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const int64_t from = row * kTile + column, to = (top + row) * s.width + left + column;
      const float T = std::abs(tile.T[from]);
      x.image[to] = tile.red[from] + T * x.background[0];
      x.image[plane + to] = tile.green[from] + T * x.background[1];
      x.image[2 * plane + to] = tile.blue[from] + T * x.background[2];
      x.transmittance[to] = T;
    }
}

void run(const GsRasterizeFwd::Args<float>& x) {
  std::vector<GsRecord> records(static_cast<size_t>(x.shape.n));
  for (int64_t g = 0; g < x.shape.n; ++g) records[size_t(g)] = gs_record(x, g);
  for (int64_t t = 0; t < x.shape.tiles(); ++t) draw(x, records.data(), t);
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run,
                              .parent = "01_pixels",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {kTile},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 2}});

}  // namespace
}  // namespace klab
