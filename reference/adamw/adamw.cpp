#include "reference/adamw/adamw.h"

#include <cmath>

namespace klab {

void Adamw::reference(const Args<double>& x, const Args<double>& magnitude) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const double* h = x.hyper + t * kHypers;
    ++x.steps[t];
    const double correct1 = 1 - std::pow(h[beta1], x.steps[t]), correct2 = 1 - std::pow(h[beta2], x.steps[t]);
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      const double g = x.gradient[i];
      const double M = h[beta1] * std::abs(x.m[i]) + (1 - h[beta1]) * std::abs(g);
      const double V = h[beta2] * x.v[i] + (1 - h[beta2]) * g * g;
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      x.v[i] = V;
      magnitude.m[i] = M;
      magnitude.v[i] = V;
      const Root root(V, V, correct2, h[epsilon]);
      const double step = h[rate] / correct1 / root.denominator;
      magnitude.param[i] = std::abs(x.param[i]) + step * M * root.growth + root.lost(h[rate] / correct1);
      x.param[i] = (1 - h[rate] * h[decay]) * x.param[i] - step * x.m[i];
    }
  }
}

}  // namespace klab
