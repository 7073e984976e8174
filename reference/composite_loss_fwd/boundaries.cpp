// Where composite_loss_fwd turns: opaque rays, and the turn from parabola to line.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_fwd/ray.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

namespace klab {
namespace {

using Args = CompositeLossFwd::Args<double>;
using Drawn = CompositeLossFwd::Args<float>;

const Boundary<CompositeLossFwd> kEmpty("ray without samples", {"ray_begin"}, {}, kEither,
                                        [](const Args& a, Sides& met) {
                                          for (int64_t r = 0; r < a.shape.rays; ++r)
                                            met.holds(a.ray_begin[r] == a.ray_begin[r + 1]);
                                        });
const Boundary<CompositeLossFwd> kStep("length of an interval", {"delta"}, {}, kOn | kAbove,
                                       [](const Args& a, Sides& met) {
                                         for (int64_t i = 0; i < a.shape.samples; ++i)
                                           met.compare(a.delta[i], 0);
                                       });

const Boundary<CompositeLossFwd> kStop("transmittance behind a sample and the stop", {"density_raw", "delta"},
                                       {}, kBelow | kAbove, [](const Args& a, Sides& met) {
                                         for (int64_t r = 0; r < a.shape.rays; ++r) {
                                           const int64_t first = a.ray_begin[r],
                                                         n = a.ray_begin[r + 1] - first;
                                           for (const double T :
                                                trace(a.density_raw + first, a.delta + first, n).T)
                                             met.compare(T, CompositeFwd::stop);
                                         }
                                       });
const Boundary<CompositeLossFwd> kOpaque(
    "one sample alone makes its ray opaque", {"density_raw", "delta"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r) {
        const int64_t first = a.ray_begin[r], n = a.ray_begin[r + 1] - first;
        const TracedRay ray = trace(a.density_raw + first, a.delta + first, n);
        for (size_t i = 0; i < size_t(n); ++i) met.holds(ray.T[i] > 0.5 && ray.T[i + 1] < CompositeFwd::stop);
      }
    },
    [](const Drawn& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.samples; ++i)
        if (random() % 16 == 0 && x.density_raw[i] > -1.5F)
          drawn(x.delta[i]) = 20 * std::exp(-x.density_raw[i]);
    });

const Boundary<CompositeLossFwd> kTurn(
    "turn of the loss", {"target", "background", "rgb", "kind"}, {}, kThreeSides,
    [](const Args& a, Sides& met) {
      if (a.shape.kind == 0) return;
      const auto colors = CompositeLossFwd::colors(a);
      for (int64_t k = 0; k < 3 * a.shape.rays; ++k)
        met.compare(std::abs(colors.value[size_t(k)] - a.target[k]),
                    double(CompositeLossFwd::turn(a.shape.kind)));
    },
    [](const Drawn& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        for (int64_t k = r; x.ray_begin[r] == x.ray_begin[r + 1] && k < 3 * x.shape.rays; k += x.shape.rays) {
          drawn(x.background[k]) = float(random() % 2);
          drawn(x.target[k]) = 1 - x.background[k];
        }
    });
const Boundary<CompositeLossFwd> kKinds("squared error", {"kind"}, {"kind == 0 ?"}, kEither,
                                        [](const Args& a, Sides& met) { met.holds(a.shape.kind == 0); });

const NoBoundary<CompositeLossFwd> kRest({{"std::min(e, turn_at)",
                                           "a bound of rounding errors, which no kernel computes"}});

}  // namespace
}  // namespace klab
