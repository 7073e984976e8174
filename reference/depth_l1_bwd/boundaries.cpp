// Where depth_l1_bwd turns: depths that are not known have no gradient, and where the depth is exact its sign changes.
#include "reference/boundaries.h"
#include "reference/depth_l1_bwd/depth_l1_bwd.h"

namespace klab {

const Boundary<DepthL1Bwd> kKnown("known depth", {"truth"}, {"x.truth[r] > 0 ?"}, kThreeSides,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t r = 0; r < a.shape.rays; ++r)
                                      if (a.depth[r] != 0 && a.d_loss[r] != 0) met.compare(a.truth[r], 0);
                                  });
const Boundary<DepthL1Bwd> kExact(
    "depth and truth", {"depth", "truth"}, {"x.depth[r] > x.truth[r] ?", "x.depth[r] < x.truth[r] ?"},
    kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r)
        if (a.truth[r] > 0 && a.d_loss[r] != 0) met.compare(a.depth[r], a.truth[r]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 4 == 0) drawn(x.depth[r]) = x.truth[r];
    });

}  // namespace klab
