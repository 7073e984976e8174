// batchnorm_inference_bwd.cpu.70_batch_means: the two means of batch statistics, where the statistics are constants.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const BatchnormInferenceBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t j = 0; j < c; ++j) {
    const float mean = x.running_mean[j], rstd = 1 / std::sqrt(x.running_var[j] + *x.epsilon);
    float sum = 0, product = 0;
    const auto each = [&](const auto& visit) {
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k) visit(k);
    };
    each([&](int64_t k) {
      sum += x.d_y[k];
      product += x.d_y[k] * ((x.x[k] - mean) * rstd);
    });
    x.d_beta[j] = sum;
    x.d_gamma[j] = product;
    const auto N = float(n * hw);
    each([&](int64_t k) {
      x.d_x[k] = x.gamma[j] * rstd * (x.d_y[k] - sum / N - (x.x[k] - mean) * rstd * (product / N));
    });
  }
}

KLAB_MUTANT(BatchnormInferenceBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
