// batchnorm_inference.cpu.01_naive: the formula, for each number.
//
// CHANGE    the naive loops, with the root and the division inside.
// EXPECT    a root and a division for each number, some twenty cycles where vectors would share them among sixteen and
//           channels among all of theirs.
// NUMERICS  as the formula reads.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

namespace klab {
namespace {

void run(const BatchnormInference::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k)
        x.y[k] =
            x.gamma[j] * (x.x[k] - x.running_mean[j]) / std::sqrt(x.running_var[j] + *x.epsilon) + x.beta[j];
}

KLAB_VARIANT(BatchnormInference, {.run = run});

}  // namespace
}  // namespace klab
