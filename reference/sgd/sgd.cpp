#include "reference/sgd/sgd.h"

#include <cmath>

namespace klab {

void Sgd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const double* h = x.hyper + t * kHypers;
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      const double g = x.gradient[i] + h[decay] * x.param[i];
      const double G = std::abs(x.gradient[i]) + h[decay] * std::abs(x.param[i]);
      magnitude.param[i] = std::abs(x.param[i]) + h[rate] * G;
      x.param[i] -= h[rate] * g;
    }
  }
}

}  // namespace klab
