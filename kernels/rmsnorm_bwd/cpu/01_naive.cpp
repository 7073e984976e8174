// rmsnorm_bwd.cpu.01_naive: one gradient after the other.
//
// CHANGE    the naive loops: d_x row by row, its mean first; then d_gamma feature by feature, down the columns.
// EXPECT    a column touches a line of memory for each number: sixteen times the bytes.
// NUMERICS  one float accumulator a sum.
#include "harness/core/registrar.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

namespace klab {
namespace {

void run(const RmsnormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float *row = x.x + i * c, *d_y = x.d_y + i * c;
    const float rrms = x.rrms[i];
    float product = 0;
    for (int64_t j = 0; j < c; ++j) product += d_y[j] * x.gamma[j] * (row[j] * rrms);
    product /= float(c);
    for (int64_t j = 0; j < c; ++j) x.d_x[i * c + j] = rrms * (d_y[j] * x.gamma[j] - row[j] * rrms * product);
  }
  for (int64_t j = 0; j < c; ++j) {
    float d_gamma = 0;
    for (int64_t i = 0; i < n; ++i) d_gamma += x.d_y[i * c + j] * (x.x[i * c + j] * x.rrms[i]);
    x.d_gamma[j] = d_gamma;
  }
}

KLAB_VARIANT(RmsnormBwd, {.run = run});

}  // namespace
}  // namespace klab
