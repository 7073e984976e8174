// Where composite_loss_fwd turns: opaque rays, and the turn from parabola to line.
#include <cmath>

#include "reference/composite_fwd/boundaries.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

namespace klab {

const RaySpans<CompositeLossFwd> kSpans;
const OpaqueRays<CompositeLossFwd> kOpaque;

const Boundary<CompositeLossFwd> kTurn(
    "turn of the loss", {"target", "background", "rgb", "kind"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      if (a.shape.kind == 0) return;
      const auto colors = CompositeLossFwd::colors(a);
      for (int64_t k = 0; k < 3 * a.shape.rays; ++k)
        met.compare(std::abs(colors.value[size_t(k)] - a.target[k]),
                    double(CompositeLossFwd::turn(a.shape.kind)));
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        for (int64_t k = r; x.ray_begin[r] == x.ray_begin[r + 1] && k < 3 * x.shape.rays; k += x.shape.rays) {
          drawn(x.background[k]) = float(random() % 2);
          drawn(x.target[k]) = 1 - x.background[k];
        }
    });
const Boundary<CompositeLossFwd> kKinds("squared error", {"kind"}, {"kind == 0 ?"}, kEither,
                                        [](const auto& a, Sides& met) { met.holds(a.shape.kind == 0); });

const NoBoundary<CompositeLossFwd> kRest({{"std::min(e, turn_at)",
                                           "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
