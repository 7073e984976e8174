#include "reference/nadam/nadam.h"

#include <cmath>

namespace klab {

void Nadam::reference(const Args<double>& x, const Args<double>& magnitude) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const double* h = x.hyper + t * kHypers;
    ++x.steps[t];
    const double correct1 = 1 - std::pow(h[beta1], x.steps[t]), correct2 = 1 - std::pow(h[beta2], x.steps[t]);
    const double ahead1 = 1 - std::pow(h[beta1], x.steps[t] + 1);
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      const double g = x.gradient[i] + h[decay] * x.param[i];
      const double G = std::abs(x.gradient[i]) + h[decay] * std::abs(x.param[i]);
      const double M = h[beta1] * std::abs(x.m[i]) + (1 - h[beta1]) * G;
      const double V = h[beta2] * x.v[i] + (1 - h[beta2]) * G * G;
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * g * g;
      magnitude.m[i] = M;
      magnitude.v[i] = V;
      const Root root(x.v[i], V, correct2, h[epsilon]);
      const double on_m = h[rate] * h[beta1] / ahead1, on_g = h[rate] * (1 - h[beta1]) / correct1;
      magnitude.param[i] = std::abs(x.param[i]) + (on_m * M + on_g * G) / root.denominator * root.growth +
                           root.lost(on_m + on_g);
      x.param[i] -= (on_m * x.m[i] + on_g * g) / root.denominator;
    }
  }
}

}  // namespace klab
