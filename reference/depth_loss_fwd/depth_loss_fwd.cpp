#include "reference/depth_loss_fwd/depth_loss_fwd.h"

#include <cmath>

namespace klab {

void DepthLossFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double error = x.depth[r] - x.truth[r], size = std::abs(x.depth[r]) + std::abs(x.truth[r]);
    x.loss[r] = x.truth[r] > 0 ? error * error / 2 : 0;
    magnitude.loss[r] = x.truth[r] > 0 ? size * size / 2 : 0;
  }
}

}  // namespace klab
