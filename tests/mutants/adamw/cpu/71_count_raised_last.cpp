// adamw.cpu.71_count_raised_last: the corrections are those of the step before.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/adamw/adamw.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Adamw::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    const double step = x.steps[t]++ < 1 ? 1 : x.steps[t] - 1;
    const float correct1 = float(1 - std::pow(double(h[beta1]), step));
    const float correct2 = float(1 - std::pow(double(h[beta2]), step));
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      const float g = x.gradient[i];
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * g * g;
      x.param[i] = (1 - h[rate] * h[decay]) * x.param[i] -
                   h[rate] * (x.m[i] / correct1) / (std::sqrt(x.v[i] / correct2) + h[epsilon]);
    }
  }
}

KLAB_MUTANT(Adamw, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
