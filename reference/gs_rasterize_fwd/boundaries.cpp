// Where gs_rasterize_fwd turns: the most and the least opaque Gaussians, pixels that are opaque.
#include "reference/boundaries.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"
#include "reference/gs_rasterize_fwd/splat.h"

namespace klab {
namespace {

using Args = GsRasterizeFwd::Args<double>;

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

const Boundary<GsRasterizeFwd> kMost("opacity is clamped", {"opacity", "mean", "conic"},
                                     {"> GsRasterizeFwd::most"}, kEither, [](const Args& a, Sides& met) {
                                       each_splat(a,
                                                  [&](const Splat& one, double) { met.holds(one.clamped); });
                                     });
const Boundary<GsRasterizeFwd> kLeast("opacity and the least that is drawn", {"opacity", "mean", "conic"},
                                      {"< GsRasterizeFwd::least"}, kBelow | kAbove,
                                      [](const Args& a, Sides& met) {
                                        each_splat(a, [&](const Splat& one, double) {
                                          met.compare(one.alpha.value, GsRasterizeFwd::least);
                                        });
                                      });
const Boundary<GsRasterizeFwd> kStop("transmittance and the stop", {"opacity", "tile_begin"},
                                     {"left.value < stop"}, kBelow | kAbove, [](const Args& a, Sides& met) {
                                       each_splat(a, [&](const Splat&, double left) {
                                         met.compare(left, GsRasterizeFwd::stop);
                                       });
                                     });
const Boundary<GsRasterizeFwd> kEmpty("tile without Gaussians", {"tile_begin"}, {}, kEither,
                                      [](const Args& a, Sides& met) {
                                        for (int64_t t = 0; t < a.shape.tiles(); ++t)
                                          met.holds(a.tile_begin[t] == a.tile_begin[t + 1]);
                                      });
const NoBoundary<GsRasterizeFwd> kRest(
    {{"std::max(brightest", "a bound of rounding errors, which no kernel computes"},
     {"<= (4 * v.error", "a bound of rounding errors, which no kernel computes"},
     {"< 2e-3 ||", "draws Gaussians away from borders"},
     {" < 2e-3)", "draws Gaussians away from borders"}});

}  // namespace
}  // namespace klab
