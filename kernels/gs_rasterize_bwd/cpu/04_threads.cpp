// gs_rasterize_bwd.cpu.04_threads: tiles shared out among the cores, gradients of their own for each.
//
// CHANGE    thread k of m takes tiles k, k + m, k + 2m ... and adds to an array of its own; at the end every thread adds up
//           the arrays for its part of the Gaussians. No atomics, and the same bits for the same number of threads.
// EXPECT    near the number of cores. Every second tile is about half of the work; the arrays are 64 bytes for each
//           Gaussian and thread, written and read once.
// NUMERICS  sums over a thread's tiles, then over threads.
// NEEDS     64 bytes a Gaussian and thread.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kTile = GsRasterizeFwd::tile;

struct alignas(64) Tile {
  float T[kTile * kTile], behind[kTile * kTile], h[3][kTile * kTile];
  uint32_t open = 0;  // a bit for each row in which a pixel has not ended
};

void add(const GsRecord& g, float left, float top, int64_t height, Tile& tile, GsGradient& out) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const GsReach down = gs_reach(g.y - top, g.half_height, height);
  const GsReach across = gs_reach(g.x - left, g.half_width, kTile);
  if (across.begin >= across.end) return;
  const auto falls = hn::Set(d, -0.5F * g.xx), opacity = hn::Set(d, g.opacity), one = hn::Set(d, 1.0F);
  const auto most = hn::Set(d, 0.99F), least = hn::Set(d, 1.0F / 255), stop = hn::Set(d, 1e-4F);
  auto s = hn::Zero(d), s_x = s, s_y = s, s_xx = s, s_xy = s, s_yy = s, red = s, green = s, blue = s;
  for (int64_t row = down.begin; row < down.end; ++row) {
    if (!(tile.open >> row & 1)) continue;
    const float dy = g.y - (top + float(row) + 0.5F);
    const auto slope = hn::Set(d, -g.xy * dy), offset = hn::Set(d, -0.5F * g.yy * dy * dy);
    bool ended = false;
    for (int64_t column = across.begin / lanes * lanes; column < across.end; column += lanes) {
      const int64_t pixel = row * kTile + column;
      const auto dx = hn::Sub(hn::Set(d, g.x - (left + float(column) + 0.5F)), hn::Iota(d, 0.0F));
      const auto e = hn::MulAdd(hn::MulAdd(falls, dx, slope), dx, offset);
      const auto free = hn::Mul(opacity, exp_saturated(d, e)), alpha = hn::Min(most, free);
      const auto T = hn::Load(d, tile.T + pixel);
      const auto shows = hn::And(hn::Ge(alpha, least), hn::Gt(T, hn::Zero(d)));
      if (hn::AllFalse(d, shows)) continue;
      const auto through = hn::NegMulAdd(T, alpha, T);
      const auto stops = hn::And(shows, hn::Lt(through, stop));
      const auto takes = hn::AndNot(stops, shows);
      hn::Store(hn::IfThenElse(stops, hn::Neg(T), hn::IfThenElse(takes, through, T)), d, tile.T + pixel);
      ended = ended || !hn::AllFalse(d, stops);
      const auto h0 = hn::Load(d, tile.h[0] + pixel), h1 = hn::Load(d, tile.h[1] + pixel),
                 h2 = hn::Load(d, tile.h[2] + pixel);
      const auto shade = hn::MulAdd(hn::Set(d, g.red), h0,
                                    hn::MulAdd(hn::Set(d, g.green), h1, hn::Mul(hn::Set(d, g.blue), h2)));
      const auto weight = hn::IfThenElseZero(takes, hn::Mul(T, alpha));
      const auto behind = hn::NegMulAdd(weight, shade, hn::Load(d, tile.behind + pixel));
      hn::Store(behind, d, tile.behind + pixel);
      red = hn::MulAdd(weight, h0, red), green = hn::MulAdd(weight, h1, green),
      blue = hn::MulAdd(weight, h2, blue);
      const auto d_alpha = hn::Sub(hn::Mul(T, shade), hn::Div(behind, hn::Sub(one, alpha)));
      const auto moves = hn::And(takes, hn::Le(free, most));
      const auto d_e = hn::IfThenElseZero(moves, hn::Mul(alpha, d_alpha));
      const auto by_x = hn::Mul(dx, d_e), by_y = hn::Mul(hn::Set(d, dy), d_e);
      s = hn::Add(s, d_e), s_x = hn::Add(s_x, by_x), s_y = hn::Add(s_y, by_y);
      s_xx = hn::MulAdd(by_x, dx, s_xx), s_xy = hn::MulAdd(by_x, hn::Set(d, dy), s_xy);
      s_yy = hn::MulAdd(by_y, hn::Set(d, dy), s_yy);
    }
    if (!ended) continue;
    const float* T = tile.T + row * kTile;
    if (std::all_of(T, T + kTile, [](float v) { return v <= 0; })) tile.open &= ~(1U << row);
  }
  float low[4], high[4];
  four_sums(d, s, s_x, s_y, s_xx, low);
  four_sums(d, s_xy, s_yy, red, green, high);
  out.opacity += low[0] / g.opacity;
  out.x -= g.xx * low[1] + g.xy * low[2];
  out.y -= g.yy * low[2] + g.xy * low[1];
  out.xx -= 0.5F * low[3], out.xy -= high[0], out.yy -= 0.5F * high[1];
  out.color[0] += high[2], out.color[1] += high[3], out.color[2] += hn::GetLane(hn::SumOfLanes(d, blue));
}

void walk(const GsRasterizeBwd::Args<float>& x, const GsRecord* records, int64_t t, GsGradient* out) {
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
  tile.open = (1U << height) - 1;
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1] && tile.open != 0; ++k)
    add(records[x.id[k]], float(left), float(top), height, tile, out[x.id[k]]);
}

void walk_some(const GsRasterizeBwd::Args<float>& x, const GsRecord* records, int64_t first, int64_t step,
               GsGradient* out) {
  for (int64_t t = first; t < x.shape.tiles(); t += step) walk(x, records, t, out);
}

KLAB_SIMD_END(walk_some);

#if HWY_ONCE
namespace klab {
namespace {

GsGradient total(const std::vector<std::vector<GsGradient>>& sums, int64_t g) {
  GsGradient all = sums[0][size_t(g)];
  for (size_t k = 1; k < sums.size(); ++k) {
    const GsGradient& more = sums[k][size_t(g)];
    all.x += more.x, all.y += more.y, all.xx += more.xx, all.xy += more.xy, all.yy += more.yy;
    all.opacity += more.opacity;
    for (int c = 0; c < 3; ++c) all.color[c] += more.color[c];
  }
  return all;
}

void run(const GsRasterizeBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  const int most = x.shape.tiles() > 4 || n > 1000 ? omp_get_max_threads() : 1;
  std::vector<GsRecord> records(static_cast<size_t>(n));
  std::vector<std::vector<GsGradient>> sums;
#pragma omp parallel num_threads(most)
  {
#pragma omp single
    sums.resize(size_t(omp_get_num_threads()));
    const auto mine = size_t(omp_get_thread_num());
    sums[mine].resize(static_cast<size_t>(n));
#pragma omp for schedule(static)
    for (int64_t g = 0; g < n; ++g) records[size_t(g)] = gs_record(x, g);
    HWY_DYNAMIC_DISPATCH(walk_some)
    (x, records.data(), int64_t(mine), int64_t(sums.size()), sums[mine].data());
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t g = 0; g < n; ++g) {
      const GsGradient sum = total(sums, g);
      x.d_mean[g] = sum.x, x.d_mean[n + g] = sum.y;
      x.d_conic[g] = sum.xx, x.d_conic[n + g] = sum.xy, x.d_conic[2 * n + g] = sum.yy;
      x.d_opacity[g] = sum.opacity;
      for (int64_t c = 0; c < 3; ++c) x.d_color[c * n + g] = sum.color[c];
    }
  }
}

KLAB_VARIANT(GsRasterizeBwd, {.run = run,
                              .parent = "03_vectors",
                              .forward = "04_threads",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {64},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
