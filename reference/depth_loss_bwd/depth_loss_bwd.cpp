#include "reference/depth_loss_bwd/depth_loss_bwd.h"

#include <cmath>

namespace klab {

void DepthLossBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double size = std::abs(x.depth[r]) + std::abs(x.truth[r]);
    x.d_depth[r] = x.truth[r] > 0 ? x.d_loss[r] * (x.depth[r] - x.truth[r]) : 0;
    magnitude.d_depth[r] = x.truth[r] > 0 ? std::abs(x.d_loss[r]) * size : 0;
  }
}

}  // namespace klab
