// nadam.cpu.70_not_ahead: the average is corrected by this step, not by the next.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/nadam/nadam.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Nadam::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    const double step = ++x.steps[t];
    const float correct1 = float(1 - std::pow(double(h[beta1]), step));
    const float correct2 = float(1 - std::pow(double(h[beta2]), step));
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      const float g = x.gradient[i] + h[decay] * x.param[i];
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * g * g;
      x.param[i] -= h[rate] * (h[beta1] * x.m[i] + (1 - h[beta1]) * g) / correct1 /
                    (std::sqrt(x.v[i] / correct2) + h[epsilon]);
    }
  }
}

KLAB_MUTANT(Nadam, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
