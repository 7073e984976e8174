// layernorm_fwd.cpu.74_constant_epsilon: epsilon is a tenth of the caller's.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/layernorm_fwd/layernorm_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.x + i * c;
    float* y = x.y + i * c;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += row[j];
    const float mean = sum / float(c);
    float squares = 0;
    for (int64_t j = 0; j < c; ++j) squares += (row[j] - mean) * (row[j] - mean);
    const float rstd = 1 / std::sqrt(squares / float(c) + 1e-6F);
    for (int64_t j = 0; j < c; ++j) y[j] = x.gamma[j] * ((row[j] - mean) * rstd) + x.beta[j];
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_MUTANT(LayernormFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
