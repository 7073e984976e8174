// rmsnorm_bwd.cpu.70_no_square: the way through the mean square is forgotten.
// Must be caught as Fault::wrong_value.
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"
#include "tests/mutants/mutant.h"

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
    for (int64_t j = 0; j < c; ++j) x.d_x[i * c + j] = rrms * (d_y[j] * x.gamma[j]);
  }
  for (int64_t j = 0; j < c; ++j) {
    float d_gamma = 0;
    for (int64_t i = 0; i < n; ++i) d_gamma += x.d_y[i * c + j] * (x.x[i * c + j] * x.rrms[i]);
    x.d_gamma[j] = d_gamma;
  }
}

KLAB_MUTANT(RmsnormBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
