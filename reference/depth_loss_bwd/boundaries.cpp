// Where depth_loss_bwd turns: depths that are not known have no gradient.
#include "reference/boundaries.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"

namespace klab {

const Boundary<DepthLossBwd> kKnown("known depth", {"truth"}, {"x.truth[r] > 0 ?"}, kThreeSides,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t r = 0; r < a.shape.rays; ++r)
                                        if (a.depth[r] != 0 && a.d_loss[r] != 0) met.compare(a.truth[r], 0);
                                    });
const Boundary<DepthLossBwd> kExact(
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
