// gs_rasterize_fwd.cpu.04_threads: tiles shared out among the cores.
//
// CHANGE    a thread takes the next few tiles when it is done with its own; records are made in equal parts.
// EXPECT    near the number of cores: tiles share no pixels, and have lists of very different lengths.
// NUMERICS  as the parent: the same bits, whichever thread draws a tile.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kTile = GsRasterizeFwd::tile;

struct alignas(64) Tile {
  float T[kTile * kTile], red[kTile * kTile], green[kTile * kTile], blue[kTile * kTile];
  uint32_t open = 0;  // a bit for each row in which a pixel has not ended
};

void add(const GsRecord& g, float left, float top, int64_t height, Tile& tile) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const GsReach down = gs_reach(g.y - top, g.half_height, height);
  const GsReach across = gs_reach(g.x - left, g.half_width, kTile);
  if (across.begin >= across.end) return;
  const auto falls = hn::Set(d, -0.5F * g.xx), opacity = hn::Set(d, g.opacity);
  const auto most = hn::Set(d, 0.99F), least = hn::Set(d, 1.0F / 255), stop = hn::Set(d, 1e-4F);
  for (int64_t row = down.begin; row < down.end; ++row) {
    if (!(tile.open >> row & 1)) continue;
    const float dy = g.y - (top + float(row) + 0.5F);
    const auto slope = hn::Set(d, -g.xy * dy), offset = hn::Set(d, -0.5F * g.yy * dy * dy);
    bool ended = false;
    for (int64_t column = across.begin / lanes * lanes; column < across.end; column += lanes) {
      const int64_t pixel = row * kTile + column;
      const auto dx = hn::Sub(hn::Set(d, g.x - (left + float(column) + 0.5F)), hn::Iota(d, 0.0F));
      const auto e = hn::MulAdd(hn::MulAdd(falls, dx, slope), dx, offset);
      const auto alpha = hn::Min(most, hn::Mul(opacity, exp_saturated(d, e)));
      const auto T = hn::Load(d, tile.T + pixel);
      const auto shows = hn::And(hn::Ge(alpha, least), hn::Gt(T, hn::Zero(d)));
      if (hn::AllFalse(d, shows)) continue;
      const auto behind = hn::NegMulAdd(T, alpha, T);
      const auto stops = hn::And(shows, hn::Lt(behind, stop));
      const auto takes = hn::AndNot(stops, shows);
      const auto weight = hn::IfThenElseZero(takes, hn::Mul(T, alpha));
      hn::Store(hn::MulAdd(weight, hn::Set(d, g.red), hn::Load(d, tile.red + pixel)), d, tile.red + pixel);
      hn::Store(hn::MulAdd(weight, hn::Set(d, g.green), hn::Load(d, tile.green + pixel)), d,
                tile.green + pixel);
      hn::Store(hn::MulAdd(weight, hn::Set(d, g.blue), hn::Load(d, tile.blue + pixel)), d, tile.blue + pixel);
      hn::Store(hn::IfThenElse(stops, hn::Neg(T), hn::IfThenElse(takes, behind, T)), d, tile.T + pixel);
      ended = ended || !hn::AllFalse(d, stops);
    }
    if (!ended) continue;
    const float* T = tile.T + row * kTile;
    if (std::all_of(T, T + kTile, [](float v) { return v < 0; })) tile.open &= ~(1U << row);
  }
}

void draw(const GsRasterizeFwd::Args<float>& x, const GsRecord* records, int64_t t) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t left = t % s.columns() * kTile, top = t / s.columns() * kTile, plane = s.width * s.height;
  const int64_t width = std::min(kTile, s.width - left), height = std::min(kTile, s.height - top);
  Tile tile{};
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < kTile; ++column)
      tile.T[row * kTile + column] = column < width ? 1.0F : -1.0F;
  tile.open = (1U << height) - 1;
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1] && tile.open != 0; ++k)
    add(records[x.id[k]], float(left), float(top), height, tile);
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

/// Draws the next tiles that no thread has taken, until there are none.
void draw_some(const GsRasterizeFwd::Args<float>& x, const GsRecord* records, std::atomic<int64_t>& next) {
  constexpr int64_t kAtOnce = 4;
  while (true) {
    const int64_t first = next.fetch_add(kAtOnce, std::memory_order_relaxed);
    if (first >= x.shape.tiles()) return;
    for (int64_t t = first; t < std::min(first + kAtOnce, x.shape.tiles()); ++t) draw(x, records, t);
  }
}

KLAB_SIMD_END(draw_some);

#if HWY_ONCE
namespace klab {
namespace {

void run(const GsRasterizeFwd::Args<float>& x) {
  std::vector<GsRecord> records(static_cast<size_t>(x.shape.n));
  std::atomic<int64_t> next{0};
  const bool large = x.shape.tiles() > 4 || x.shape.n > 1000;
#pragma omp parallel if (large)
  {
#pragma omp for schedule(static)
    for (int64_t g = 0; g < x.shape.n; ++g) records[size_t(g)] = gs_record(x, g);
    HWY_DYNAMIC_DISPATCH(draw_some)(x, records.data(), next);
  }
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run,
                              .parent = "03_vectors",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {64},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
