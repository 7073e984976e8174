// activation_fwd.cpu.70_tanh_gelu: GELU by way of tanh, the usual approximation, for the exact one.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/activation_fwd/activation_fwd.h"
#include "tests/mutants/mutant.h"

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
      return 0.5F * x * (1 + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
    case activation::swish:
      return x / (1 + std::exp(-x));
    default:
      return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
  }
}

void run(const ActivationFwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] = value(x.shape.kind, x.x[i]);
}

KLAB_MUTANT(ActivationFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
