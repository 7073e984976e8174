// distortion_bwd.cpu.01_quadratic: every pair of samples.
//
// CHANGE    the naive loops, as the formula reads.
// EXPECT    n^2 absolute differences a ray.
// NUMERICS  one rounding an operation.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/distortion_bwd/distortion_bwd.h"

namespace klab {
namespace {

void run(const DistortionBwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r)
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      float sum = x.weights[i] * x.delta[i] / 3;
      for (int64_t j = x.ray_begin[r]; j < x.ray_begin[r + 1]; ++j)
        sum += x.weights[j] * std::abs(x.t[i] - x.t[j]);
      x.d_weights[i] = 2 * x.d_loss[r] * sum;
    }
}

KLAB_VARIANT(DistortionBwd, {.run = run});

}  // namespace
}  // namespace klab
