// activation_fwd.cpu.01_naive: the function of the library, one call for each element.
//
// CHANGE    the naive loop; which function is asked for every element.
// EXPECT    a call of an exponential, a tanh or an error function, 20 to 60 instructions; relu alone is fast.
// NUMERICS  those of the C library.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/activation_fwd/activation_fwd.h"

namespace klab {
namespace {

float value(int64_t kind, float x) {
  switch (kind) {
    case activation::relu:
      return x > 0 ? x : 0;
    case activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case activation::tanh:
      return std::tanh(x);
    case activation::gelu:
      return 0.5F * x * (1 + std::erf(x * 0.70710678F));
    case activation::swish:
      return x / (1 + std::exp(-x));
    default:
      return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
  }
}

void run(const ActivationFwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] = value(x.shape.kind, x.x[i]);
}

KLAB_VARIANT(ActivationFwd, {.run = run});

}  // namespace
}  // namespace klab
