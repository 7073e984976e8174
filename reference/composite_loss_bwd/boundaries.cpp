// Where composite_loss_bwd turns: opaque rays, the turn of the loss, the clamp of the slope.
#include <cmath>

#include "reference/composite_fwd/boundaries.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {

const RaySpans<CompositeLossBwd> kSpans;
const OpaqueRays<CompositeLossBwd> kOpaque;
const SlopeClamp<CompositeLossBwd> kSlope("std::clamp(x.density_raw[first + i], -15.0, 15.0)");

const Boundary<CompositeLossBwd> kTurn(
    "turn of the loss", {"target", "background", "rgb", "kind"}, {"std::clamp(e, -turn, turn)"}, kThreeSides,
    [](const auto& a, Sides& met) {
      if (a.shape.kind == 0) return;
      const auto colors = CompositeLossFwd::colors(
          {a.shape, a.ray_begin, a.density_raw, a.rgb, a.delta, a.background, a.target, a.loss});
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
const Boundary<CompositeLossBwd> kKinds("squared error", {"kind"}, {"kind == 0 ?"}, kEither,
                                        [](const auto& a, Sides& met) { met.holds(a.shape.kind == 0); });

const NoBoundary<CompositeLossBwd> kRest({{"k % rays", "an index: sizes draw every remainder"},
                                          {"std::max(rays, samples)", "room for zeros"}});

}  // namespace klab
