#include "reference/depth_loss_fwd/depth_loss_fwd.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void DepthLossFwd::arrange(const Args<float>& x, Generator& random) {
  std::uniform_real_distribution<float> unit(0, 1);
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    float& truth = const_cast<float*>(x.truth)[r];
    truth = random() % 3 == 0 ? 0.0F : 0.1F + unit(random);
    // Any distance above 0 is known; a camera's own zero, and values that some cameras write for "no return",
    // are not.
    if (random.widely && random() % 2)
      truth = std::exp2(60 * unit(random) - 50) * (random() % 8 ? 1.0F : -1.0F);
  }
}

void DepthLossFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double error = x.depth[r] - x.truth[r], size = std::abs(x.depth[r]) + std::abs(x.truth[r]);
    x.loss[r] = x.truth[r] > 0 ? error * error / 2 : 0;
    magnitude.loss[r] = x.truth[r] > 0 ? size * size / 2 : 0;
  }
}

}  // namespace klab
