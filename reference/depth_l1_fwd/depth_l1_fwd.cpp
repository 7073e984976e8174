#include "reference/depth_l1_fwd/depth_l1_fwd.h"

#include <cmath>

namespace klab {

void DepthL1Fwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    x.loss[r] = x.truth[r] > 0 ? std::abs(x.depth[r] - x.truth[r]) : 0;
    magnitude.loss[r] = x.loss[r];
  }
}

}  // namespace klab
