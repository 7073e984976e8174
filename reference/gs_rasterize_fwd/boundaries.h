// Boundaries of gs_rasterize_fwd and gs_rasterize_bwd: the most and the least opaque Gaussians, opaque pixels.
#pragma once

#include <string>
#include <vector>

#include "reference/boundaries.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"
#include "reference/gs_rasterize_fwd/splat.h"

namespace klab {

/// Code of a reference that decides each boundary, where it compares something there.
struct RasterCode {
  std::vector<std::string> most, least, stop;
};

/// States them for one of both.
template <class Contract>
struct RasterBoundaries {
  using Args = typename Contract::template Args<double>;
  explicit RasterBoundaries(const RasterCode& code) {
    Boundary<Contract>(
        "opacity is clamped", {"opacity", "mean", "conic"}, code.most, kEither,
        [](const Args& a, Sides& met) {
          each_splat(a, [&](const Splat& one, double) { met.holds(one.clamped); });
        },
        opaque_in_front);
    Boundary<Contract>("opacity and the least that is drawn", {"opacity", "mean", "conic"}, code.least,
                       kBelow | kAbove, [](const Args& a, Sides& met) {
                         each_splat(a, [&](const Splat& one, double) {
                           met.compare(one.alpha.value, GsRasterizeFwd::least);
                         });
                       });
    Boundary<Contract>("transmittance and the stop", {"opacity", "tile_begin"}, code.stop, kBelow | kAbove,
                       [](const Args& a, Sides& met) {
                         each_splat(
                             a, [&](const Splat&, double left) { met.compare(left, GsRasterizeFwd::stop); });
                       });
    Boundary<Contract>("tile without Gaussians", {"tile_begin"}, {}, kEither, [](const Args& a, Sides& met) {
      for (int64_t t = 0; t < a.shape.tiles(); ++t) met.holds(a.tile_begin[t] == a.tile_begin[t + 1]);
    });
  }

 private:
  /// Puts the first Gaussian of each tile's list over the tile's first pixel, as opaque as can be.
  static void opaque_in_front(const typename Contract::template Args<float>& x, Generator&) {
    const auto& s = x.shape;
    for (int64_t t = 0; t < s.tiles(); ++t) {
      if (x.tile_begin[t] == x.tile_begin[t + 1]) continue;
      const int64_t g = x.id[x.tile_begin[t]];
      drawn(x.mean[g]) = float(t % s.columns() * 16) + 0.5F;
      drawn(x.mean[s.n + g]) = float(t / s.columns() * 16) + 0.5F;
      drawn(x.opacity[g]) = 1;
    }
  }

  /// Calls visit(splat, transmittance behind it) for each Gaussian at the corners and the middle of each tile.
  static void each_splat(const Args& a, auto&& visit) {
    const auto& s = a.shape;
    for (int64_t t = 0; t < s.tiles(); ++t)
      for (const int64_t inside : {0, 8, 15}) {
        const int64_t row = t / s.columns() * 16 + inside, column = t % s.columns() * 16 + inside;
        if (row >= s.height || column >= s.width) continue;
        double left = 1;
        for (int64_t k = a.tile_begin[t]; k < a.tile_begin[t + 1] && left >= GsRasterizeFwd::stop; ++k) {
          const Splat one =
              splat(s, a.mean, a.conic, a.opacity, a.id[k], double(column) + 0.5, double(row) + 0.5);
          if (!one.skipped) left *= 1 - one.alpha.value;
          visit(one, left);
        }
      }
  }
};

}  // namespace klab
