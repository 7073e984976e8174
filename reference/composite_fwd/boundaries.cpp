// Where composite_fwd turns: rays without samples, and rays that become opaque.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_fwd/ray.h"

namespace klab {
namespace {

using Args = CompositeFwd::Args<double>;
using Drawn = CompositeFwd::Args<float>;

const Boundary<CompositeFwd> kEmpty("ray without samples", {"ray_begin"}, {}, kEither,
                                    [](const Args& a, Sides& met) {
                                      for (int64_t r = 0; r < a.shape.rays; ++r)
                                        met.holds(a.ray_begin[r] == a.ray_begin[r + 1]);
                                    });
const Boundary<CompositeFwd> kStep("length of an interval", {"delta"}, {}, kOn | kAbove,
                                   [](const Args& a, Sides& met) {
                                     for (int64_t i = 0; i < a.shape.samples; ++i) met.compare(a.delta[i], 0);
                                   });

const Boundary<CompositeFwd> kStop("transmittance behind a sample and the stop", {"density_raw", "delta"}, {},
                                   kBelow | kAbove, [](const Args& a, Sides& met) {
                                     for (int64_t r = 0; r < a.shape.rays; ++r) {
                                       const int64_t first = a.ray_begin[r], n = a.ray_begin[r + 1] - first;
                                       for (const double T :
                                            trace(a.density_raw + first, a.delta + first, n).T)
                                         met.compare(T, CompositeFwd::stop);
                                     }
                                   });
const Boundary<CompositeFwd> kOpaque(
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

const NoBoundary<CompositeFwd> kRest(
    {{"i >= b.stopped", "a bound of rounding errors, which no kernel computes"},
     {"T > 0 ?", "a bound of rounding errors, which no kernel computes"},
     {"std::max(brightest, std::abs", "a bound of rounding errors, which no kernel computes"},
     {"std::max(farthest, std::abs", "a bound of rounding errors, which no kernel computes"}});

}  // namespace
}  // namespace klab
