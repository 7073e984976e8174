// layernorm_bwd.cpu.01_naive: one gradient after the other.
//
// CHANGE    the naive loops: d_x row by row, with both means first; then d_gamma and d_beta feature by feature, down the
//           columns.
// EXPECT    a column touches a line of memory for each number: sixteen times the bytes, and a page each where rows are
//           long. That loop is most of the time.
// NUMERICS  one float accumulator a sum.
#include "harness/core/registrar.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

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
  for (int64_t j = 0; j < c; ++j) {
    float d_gamma = 0, d_beta = 0;
    for (int64_t i = 0; i < n; ++i) {
      d_gamma += x.d_y[i * c + j] * ((x.x[i * c + j] - x.mean[i]) * x.rstd[i]);
      d_beta += x.d_y[i * c + j];
    }
    x.d_gamma[j] = d_gamma;
    x.d_beta[j] = d_beta;
  }
}

KLAB_VARIANT(LayernormBwd, {.run = run});

}  // namespace
}  // namespace klab
