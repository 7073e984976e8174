// batchnorm_inference_bwd.cpu.01_naive: channel by channel, as the formulas read.
//
// CHANGE    the naive loops; examples outside, positions inside; one pass, since d_x needs no sum.
// EXPECT    two independent chains of additions, so about the time of one: four cycles a number.
// NUMERICS  one float accumulator a sum.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

namespace klab {
namespace {

void run(const BatchnormInferenceBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t j = 0; j < c; ++j) {
    const float mean = x.running_mean[j], rstd = 1 / std::sqrt(x.running_var[j] + *x.epsilon);
    float sum = 0, product = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k) {
        sum += x.d_y[k];
        product += x.d_y[k] * ((x.x[k] - mean) * rstd);
        x.d_x[k] = x.gamma[j] * rstd * x.d_y[k];
      }
    x.d_beta[j] = sum;
    x.d_gamma[j] = product;
  }
}

KLAB_VARIANT(BatchnormInferenceBwd, {.run = run});

}  // namespace
}  // namespace klab
