// batchnorm_fwd.cpu.70_other_momentum: the running averages keep momentum of their old value, not 1 -
// momentum.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/batchnorm_fwd/batchnorm_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

/// Calls visit(k) for the position k of each of channel j's numbers.
template <class Visit>
void each(const BatchnormFwd::Shape& s, int64_t j, const Visit& visit) {
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t k = 0; k < s.hw; ++k) visit((i * s.c + j) * s.hw + k);
}

void run(const BatchnormFwd::Args<float>& x) {
  const int64_t N = BatchnormFwd::count(x.shape);
  const float unbiased = N > 1 ? float(double(N) / double(N - 1)) : 1;
  for (int64_t j = 0; j < x.shape.c; ++j) {
    float sum = 0;
    each(x.shape, j, [&](int64_t k) { sum += x.x[k]; });
    const float mean = sum / float(N);
    float squares = 0;
    each(x.shape, j, [&](int64_t k) { squares += (x.x[k] - mean) * (x.x[k] - mean); });
    const float variance = squares / float(N), rstd = 1 / std::sqrt(variance + *x.epsilon);
    each(x.shape, j, [&](int64_t k) { x.y[k] = x.gamma[j] * ((x.x[k] - mean) * rstd) + x.beta[j]; });
    x.mean[j] = mean;
    x.rstd[j] = rstd;
    x.running_mean[j] += (1 - *x.momentum) * (mean - x.running_mean[j]);
    x.running_var[j] += (1 - *x.momentum) * (unbiased * variance - x.running_var[j]);
  }
}

KLAB_MUTANT(BatchnormFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
