#include "reference/momentum/momentum.h"

#include <cmath>

namespace klab {

void Momentum::reference(const Args<double>& x, const Args<double>& magnitude) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const double* h = x.hyper + t * kHypers;
    ++x.steps[t];
    const double correct = x.shape.corrected != 0 ? 1 - std::pow(h[beta1], x.steps[t]) : 1;
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      const double g = x.gradient[i] + h[decay] * x.param[i];
      const double G = std::abs(x.gradient[i]) + h[decay] * std::abs(x.param[i]);
      magnitude.m[i] = h[beta1] * std::abs(x.m[i]) + (1 - h[beta1]) * G;
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      magnitude.param[i] = std::abs(x.param[i]) + h[rate] / correct * magnitude.m[i];
      x.param[i] -= h[rate] / correct * x.m[i];
    }
  }
}

}  // namespace klab
