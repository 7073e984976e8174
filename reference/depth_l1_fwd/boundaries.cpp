// Where depth_l1_fwd turns: depths that are not known, and depths that are exact.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {

const Boundary<DepthL1Fwd> kKnown("known depth", {"truth"}, {"x.truth[r] > 0 ?"}, kThreeSides,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t r = 0; r < a.shape.rays; ++r)
                                      if (a.depth[r] != 0) met.compare(a.truth[r], 0);
                                  });
const Boundary<DepthL1Fwd> kMinusZero(
    "-0", {"truth"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r)
        if (a.truth[r] == 0 && std::signbit(a.truth[r])) met.holds(true);
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 4 == 0) drawn(x.truth[r]) = -0.0F;
    });
const Boundary<DepthL1Fwd> kExact(
    "depth and truth", {"depth", "truth"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r)
        if (a.truth[r] > 0) met.compare(a.depth[r], a.truth[r]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 4 == 0) drawn(x.depth[r]) = x.truth[r];
    });

}  // namespace klab
