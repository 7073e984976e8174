#include "reference/distortion_fwd/distortion_fwd.h"

#include <cmath>

#include "reference/composite_fwd/composite_fwd.h"
#include "reference/generator.h"

namespace klab {

void DistortionFwd::arrange(const Args<float>& x, Generator& random) {
  std::vector<float> raw(static_cast<size_t>(x.shape.samples));
  CompositeFwd::Args<float> ray{};
  ray.shape = {x.shape.rays, x.shape.samples};
  ray.ray_begin = x.ray_begin;
  ray.density_raw = raw.data();
  ray.delta = x.delta;
  ray.t = x.t;
  CompositeFwd::arrange(ray, random);
}

// The bound, in units of 8u. A pair costs up to three roundings of w_i·w_j·|t_i - t_j|; as t_i·W - Z it is a
// difference of sums over n samples, which err by (n+2)·u of w_i·w_j·(t_i + t_j) each. The outer sum adds
// n·u, over all pairs n^2·u of the loss; so (n+2)·u of sum w_i·w_j·(t_i + t_j), and n^2·u of the loss itself.
void DistortionFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const double n = double(end - begin);
    double loss = 0, sums = 0;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = begin; j < end; ++j) {
        loss += x.weights[i] * x.weights[j] * std::abs(x.t[i] - x.t[j]);
        sums += x.weights[i] * x.weights[j] * (x.t[i] + x.t[j]);
      }
      loss += x.weights[i] * x.weights[i] * x.delta[i] / 3;
    }
    x.loss[r] = loss;
    magnitude.loss[r] = (n + 2) * sums + (n * n + 4) * loss / 8;
  }
}

}  // namespace klab
