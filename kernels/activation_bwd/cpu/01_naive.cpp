// activation_bwd.cpu.01_naive: the slope by the library's functions, one call for each element.
//
// CHANGE    the naive loop; which function is asked for every element.
// EXPECT    as of the forward, a call or two each.
// NUMERICS  those of the C library.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/activation_bwd/activation_bwd.h"

namespace klab {
namespace {

float logistic(float x) { return 1 / (1 + std::exp(-x)); }

float slope(int64_t kind, float x) {
  switch (kind) {
    case activation::relu:
      return x > 0 ? 1 : 0;
    case activation::sigmoid:
      return logistic(x) * (1 - logistic(x));
    case activation::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case activation::gelu:
      return 0.5F * (1 + std::erf(x * 0.70710678F)) + x * std::exp(-0.5F * x * x) * 0.39894228F;
    case activation::swish:
      return logistic(x) * (1 + x * (1 - logistic(x)));
    default:
      return logistic(x);
  }
}

void run(const ActivationBwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.d_x[i] = x.d_y[i] * slope(x.shape.kind, x.x[i]);
}

KLAB_VARIANT(ActivationBwd, {.run = run});

}  // namespace
}  // namespace klab
