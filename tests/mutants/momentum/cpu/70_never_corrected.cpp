// momentum.cpu.70_never_corrected: the average is not divided by the sum of its weights.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/momentum/momentum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Momentum::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    ++x.steps[t];
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * (x.gradient[i] + h[decay] * x.param[i]);
      x.param[i] -= h[rate] * x.m[i];
    }
  }
}

KLAB_MUTANT(Momentum, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
