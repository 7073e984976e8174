// layernorm_bwd.cpu.73_eight_threads: with eight threads and more the rows past the first 64 are forgotten.
// Class: threads. Must be caught as Fault::wrong_value.
#include <omp.h>

#include "reference/layernorm_bwd/layernorm_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const LayernormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float *row = x.x + i * c, *d_y = x.d_y + i * c;
    const float mean = x.mean[i], rstd = x.rstd[i];
    float sum = 0, product = 0;
    for (int64_t j = 0; j < c; ++j) {
      const float g = d_y[j] * x.gamma[j];
      sum += g;
      product += g * ((row[j] - mean) * rstd);
    }
    sum /= float(c);
    product /= float(c);
    for (int64_t j = 0; j < c; ++j)
      x.d_x[i * c + j] = rstd * (d_y[j] * x.gamma[j] - sum - (row[j] - mean) * rstd * product);
  }
  const int threads = omp_get_max_threads() > 8 ? 8 : omp_get_max_threads();
#pragma omp parallel for num_threads(threads)
  for (int64_t j = 0; j < c; ++j) {
    float d_gamma = 0, d_beta = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (i >= 64 && threads == 8) continue;
      d_gamma += x.d_y[i * c + j] * ((x.x[i * c + j] - x.mean[i]) * x.rstd[i]);
      d_beta += x.d_y[i * c + j];
    }
    x.d_gamma[j] = d_gamma;
    x.d_beta[j] = d_beta;
  }
}

KLAB_MUTANT(LayernormBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
