// sgd.cpu.70_first_tensors_rate: every tensor takes the first one's rate.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/sgd/sgd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Sgd::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    const float rate_of_all = x.hyper[rate];
    for (int64_t i = begin_of(n, tensors, t); i < begin_of(n, tensors, t + 1); ++i) {
      x.param[i] -= rate_of_all * (x.gradient[i] + h[decay] * x.param[i]);
    }
  }
}

KLAB_MUTANT(Sgd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
