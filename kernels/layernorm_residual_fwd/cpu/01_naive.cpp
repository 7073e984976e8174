// layernorm_residual_fwd.cpu.01_naive: an addition over all of memory, then a normalization.
//
// CHANGE    two operations in a row, as a framework without fusion runs them: the sum of all rows, then the
//           naive normalization of the sums.
// EXPECT    the sum goes to memory and comes back, a quarter more bytes than compulsory; the chains of
//           additions of the normalization are most of the time.
// NUMERICS  as layernorm_fwd.cpu.01_naive; the sum is rounded once.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

namespace klab {
namespace {

void run(const LayernormResidualFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t k = 0; k < n * c; ++k) x.sum[k] = x.x[k] + x.residual[k];
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.sum + i * c;
    float* y = x.y + i * c;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += row[j];
    const float mean = sum / float(c);
    float squares = 0;
    for (int64_t j = 0; j < c; ++j) squares += (row[j] - mean) * (row[j] - mean);
    const float rstd = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    for (int64_t j = 0; j < c; ++j) y[j] = x.gamma[j] * ((row[j] - mean) * rstd) + x.beta[j];
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_VARIANT(LayernormResidualFwd, {.run = run});

}  // namespace
}  // namespace klab
