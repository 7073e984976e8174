#include "reference/depth_loss_bwd/depth_loss_bwd.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

void DepthLossBwd::arrange(const Args<float>& x, Generator& random) {
  const DepthLossFwd::Args<float> forward{x.shape, x.depth, x.truth, nullptr};
  DepthLossFwd::arrange(forward, random);
}

void DepthLossBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double size = std::abs(x.depth[r]) + std::abs(x.truth[r]);
    x.d_depth[r] = x.truth[r] > 0 ? x.d_loss[r] * (x.depth[r] - x.truth[r]) : 0;
    magnitude.d_depth[r] = x.truth[r] > 0 ? std::abs(x.d_loss[r]) * size : 0;
  }
}

}  // namespace klab
