#include "reference/distortion_bwd/distortion_bwd.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

void DistortionBwd::arrange(const Args<float>& x, Generator& random) {
  DistortionFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.ray_begin = x.ray_begin;
  forward.delta = x.delta;
  forward.t = x.t;
  DistortionFwd::arrange(forward, random);
}

// The bound, in units of 8u: sums over n samples err by (n+2)·u of sum_j w_j·(t_i + t_j); with both sides'
// sums taken as totals minus prefixes, twice that. The rest (2, 1/3, products) is below it.
void DistortionBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const double n = double(end - begin);
    for (int64_t i = begin; i < end; ++i) {
      double sum = x.weights[i] * x.delta[i] / 3, size = sum;
      for (int64_t j = begin; j < end; ++j) {
        sum += x.weights[j] * std::abs(x.t[i] - x.t[j]);
        size += x.weights[j] * (x.t[i] + x.t[j]);
      }
      x.d_weights[i] = 2 * x.d_loss[r] * sum;
      magnitude.d_weights[i] = 2 * std::abs(x.d_loss[r]) * size * (n + 2);
    }
  }
}

}  // namespace klab
