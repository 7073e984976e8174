// Where visible_limit turns: rays that become opaque in a pass, that were before, and that do not.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/visible_limit/visible_limit.h"

namespace klab {

const Boundary<VisibleLimit> kBefore(
    "optical depth before the pass and the stop", {"optical_depth", "stop"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r)
        if (a.begin[r] < a.begin[r + 1]) met.compare(a.optical_depth[r], *a.stop);
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 4 == 0) {
          x.optical_depth[r] = *x.stop;
          // A sample makes the ray opaque, or adds nothing: what adds less than a float holds decides by its rounding.
          for (int64_t i = 0; i < x.begin[r + 1] - x.begin[r]; ++i) {
            const float& delta = x.delta[x.ray_begin[r] + x.shape.first + i];
            if (std::exp(x.raw[x.begin[r] + i]) * delta < 0.01F) drawn(delta) = 0;
          }
        }
    });
const ResultBoundary<VisibleLimit> kAfter("optical depth behind the pass and the stop",
                                          {"raw", "delta", "stop"}, {"depth > *x.stop"}, kBelow | kAbove,
                                          [](const auto& a, Sides& met) {
                                            for (int64_t r = 0; r < a.shape.rays; ++r)
                                              if (a.begin[r] < a.begin[r + 1])
                                                met.compare(a.optical_depth[r], *a.stop);
                                          });
const Boundary<VisibleLimit> kNone("samples of a ray in the pass", {"begin"}, {"n > 0"}, kOn | kAbove,
                                   [](const auto& a, Sides& met) {
                                     for (int64_t r = 0; r < a.shape.rays; ++r)
                                       met.compare(a.begin[r + 1], a.begin[r]);
                                   });
const ResultBoundary<VisibleLimit> kAlone("first sample alone makes its ray opaque", {"raw", "delta"}, {},
                                          kEither, [](const auto& a, Sides& met) {
                                            for (int64_t r = 0; r < a.shape.rays; ++r)
                                              if (a.begin[r] < a.begin[r + 1])
                                                met.holds(a.limit[r] == a.shape.first + 1);
                                          });
const ResultBoundary<VisibleLimit> kLate("ray becomes opaque behind its 32nd sample in the pass",
                                         {"raw", "delta"}, {}, kEither, [](const auto& a, Sides& met) {
                                           for (int64_t r = 0; r < a.shape.rays; ++r)
                                             if (a.limit[r] != 0x7F7F7F7F)
                                               met.holds(a.limit[r] > a.shape.first + 32);
                                         });

}  // namespace klab
