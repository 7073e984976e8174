// distortion_fwd.cpu.01_quadratic: every pair of samples.
//
// CHANGE    the naive loops, as the formula reads.
// EXPECT    n^2 absolute differences a ray.
// NUMERICS  one rounding an operation.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/distortion_fwd/distortion_fwd.h"

namespace klab {
namespace {

void run(const DistortionFwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    float sum = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      for (int64_t j = x.ray_begin[r]; j < x.ray_begin[r + 1]; ++j)
        sum += x.weights[i] * x.weights[j] * std::abs(x.t[i] - x.t[j]);
      sum += x.weights[i] * x.weights[i] * x.delta[i] / 3;
    }
    x.loss[r] = sum;
  }
}

KLAB_VARIANT(DistortionFwd, {.run = run});

}  // namespace
}  // namespace klab
