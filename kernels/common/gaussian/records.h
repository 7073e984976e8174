// The data of a Gaussian that a rasterizer reads, in one cache line, and the pixels that it can reach.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace klab {
namespace {

struct alignas(64) GsRecord {
  float x, y;        // mean
  float xx, xy, yy;  // conic
  float opacity;
  float red, green, blue;
  float half_width, half_height;  // of the box of alpha >= 1/255; negative: reaches no pixel
};

/// Gradients of one Gaussian, in a line of its own.
struct alignas(64) GsGradient {
  float x = 0, y = 0, xx = 0, xy = 0, yy = 0, opacity = 0, color[3] = {0, 0, 0};
  float pull[2] = {0, 0};  // of gs_rasterize_abs_bwd
};

/// Gaussian g of n. The box is that of the ellipse where opacity·exp(-q/2) = 1/255: q = 2·ln(255·opacity), and the
/// variances are those of the inverse matrix. In double, where the determinant of a needle does not cancel; a little
/// larger, so that rounding never leaves a pixel out that it should not.
template <class Args>
GsRecord gs_record(const Args& x, int64_t g) {
  const int64_t n = x.shape.n;
  GsRecord r{x.mean[g],
             x.mean[n + g],
             x.conic[g],
             x.conic[n + g],
             x.conic[2 * n + g],
             x.opacity[g],
             x.color[g],
             x.color[n + g],
             x.color[2 * n + g],
             -1,
             -1};
  const double level = 255.0 * double(r.opacity);
  const double xx = r.xx, xy = r.xy, yy = r.yy, determinant = xx * yy - xy * xy;
  if (!(level >= 0.999) || !(determinant > 0)) return r;
  const double q = 2 * std::log(level) + 2e-3;
  r.half_width = float(std::sqrt(q * yy / determinant) + 1e-3);
  r.half_height = float(std::sqrt(q * xx / determinant) + 1e-3);
  return r;
}

/// Writes the gradients of Gaussian g, with the sums of absolute values where the contract has them.
template <class Args>
void gs_write(const Args& x, int64_t g, const GsGradient& sum) {
  const int64_t n = x.shape.n;
  x.d_mean[g] = sum.x, x.d_mean[n + g] = sum.y;
  x.d_conic[g] = sum.xx, x.d_conic[n + g] = sum.xy, x.d_conic[2 * n + g] = sum.yy;
  x.d_opacity[g] = sum.opacity;
  for (int64_t c = 0; c < 3; ++c) x.d_color[c * n + g] = sum.color[c];
  if constexpr (requires { x.pull; }) x.pull[g] = sum.pull[0], x.pull[n + g] = sum.pull[1];
}

/// Whole numbers begin <= k < end of [0, most) whose k + 0.5 lie within `half` of `mean`, which is finite.
struct GsReach {
  int64_t begin, end;
};
inline GsReach gs_reach(float mean, float half, int64_t most) {
  const float last = float(most);
  const float low = std::clamp(std::ceil(mean - half - 0.5F), 0.0F, last);
  const float high = std::clamp(std::floor(mean + half - 0.5F) + 1, 0.0F, last);
  return {int64_t(low), int64_t(high)};
}

}  // namespace
}  // namespace klab
