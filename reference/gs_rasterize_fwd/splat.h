// One Gaussian at one pixel with running errors, and the decisions that a variant might make differently;
// shared by gs_rasterize_fwd and gs_rasterize_bwd.
#pragma once

#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"
#include "reference/running_error.h"

namespace klab {

struct Splat {
  RunningError dx, dy, falloff, alpha;
  bool clamped = false, skipped = false;
  bool unsure = false;  // whether it is clamped or skipped is within the error of alpha
};

/// Returns whether values within the error of v lie on both sides of a border.
inline bool straddles(RunningError v, double border) {
  return std::abs(v.value - border) <= (4 * v.error + 4 * border) * 0x1p-24;
}

inline Splat splat(const GsRasterizeFwd::Shape& s, const double* mean, const double* conic,
                   const double* opacity, int64_t g, double x, double y) {
  using Real = RunningError;
  Splat out;
  out.dx = Real(mean[g]) - Real(x), out.dy = Real(mean[s.n + g]) - Real(y);
  const Real half = 0.5, xx = conic[g], xy = conic[s.n + g], yy = conic[2 * s.n + g];
  const Real exponent = -(half * (xx * out.dx * out.dx + yy * out.dy * out.dy)) - xy * out.dx * out.dy;
  out.falloff = exp(exponent);
  out.alpha = Real(opacity[g]) * out.falloff;
  out.clamped = out.alpha.value > GsRasterizeFwd::most;
  out.skipped = out.alpha.value < GsRasterizeFwd::least;
  out.unsure = straddles(out.alpha, GsRasterizeFwd::least) || straddles(out.alpha, GsRasterizeFwd::most);
  if (out.clamped) out.alpha = rounded(GsRasterizeFwd::most);
  return out;
}

}  // namespace klab
