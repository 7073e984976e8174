#include "reference/depth_l1_bwd/depth_l1_bwd.h"

#include <cmath>

namespace klab {

void DepthL1Bwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double slope = x.depth[r] > x.truth[r] ? x.d_loss[r] : x.depth[r] < x.truth[r] ? -x.d_loss[r] : 0;
    x.d_depth[r] = x.truth[r] > 0 ? slope : 0;
    magnitude.d_depth[r] = std::abs(x.d_depth[r]);
  }
}

}  // namespace klab
