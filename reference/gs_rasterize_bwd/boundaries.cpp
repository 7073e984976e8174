// Where gs_rasterize_bwd turns: the most and the least opaque Gaussians, pixels that are opaque.
#include "reference/boundaries.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"
#include "reference/gs_rasterize_fwd/splat.h"

namespace klab {
namespace {

using Args = GsRasterizeBwd::Args<double>;

/// Calls visit(splat, transmittance behind it) for each Gaussian at the corners and the middle of each tile.
void each_splat(const Args& a, auto&& visit) {
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

const Boundary<GsRasterizeBwd> kMost("opacity is clamped", {"opacity", "mean", "conic"}, {}, kEither,
                                     [](const Args& a, Sides& met) {
                                       each_splat(a,
                                                  [&](const Splat& one, double) { met.holds(one.clamped); });
                                     });
const Boundary<GsRasterizeBwd> kLeast("opacity and the least that is drawn", {"opacity", "mean", "conic"}, {},
                                      kBelow | kAbove, [](const Args& a, Sides& met) {
                                        each_splat(a, [&](const Splat& one, double) {
                                          met.compare(one.alpha.value, GsRasterizeFwd::least);
                                        });
                                      });
const Boundary<GsRasterizeBwd> kStop("transmittance and the stop", {"opacity", "tile_begin"},
                                     {"left.value < GsRasterizeFwd::stop"}, kBelow | kAbove,
                                     [](const Args& a, Sides& met) {
                                       each_splat(a, [&](const Splat&, double left) {
                                         met.compare(left, GsRasterizeFwd::stop);
                                       });
                                     });
const Boundary<GsRasterizeBwd> kEmpty("tile without Gaussians", {"tile_begin"}, {}, kEither,
                                      [](const Args& a, Sides& met) {
                                        for (int64_t t = 0; t < a.shape.tiles(); ++t)
                                          met.holds(a.tile_begin[t] == a.tile_begin[t + 1]);
                                      });
const NoBoundary<GsRasterizeBwd> kRest(
    {{"std::max(1.0, std::abs", "a bound of rounding errors, which no kernel computes"},
     {"> 0) blur", "a bound of rounding errors, which no kernel computes"},
     {"sums != nullptr && uncertainty", "a bound of rounding errors, which no kernel computes"},
     {"uncertainty > 0 && may_stop", "a bound of rounding errors, which no kernel computes"},
     {"<= doubt * left", "a bound of rounding errors, which no kernel computes"},
     {"sums != nullptr)", "the first of two walks only looks for doubt"}});

}  // namespace
}  // namespace klab
