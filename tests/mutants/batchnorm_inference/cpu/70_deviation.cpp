// batchnorm_inference.cpu.70_deviation: running_var taken for the deviation that it is the square of.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/batchnorm_inference/batchnorm_inference.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const BatchnormInference::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k)
        x.y[k] = x.gamma[j] * (x.x[k] - x.running_mean[j]) / (x.running_var[j] + *x.epsilon) + x.beta[j];
}

KLAB_MUTANT(BatchnormInference, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
