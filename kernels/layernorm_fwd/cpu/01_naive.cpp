// layernorm_fwd.cpu.01_naive: mean, variance, output, as the formulas read.
//
// CHANGE    the naive loops: one for the mean, one for the variance about it, one for the output.
// EXPECT    each addition waits for the one before: some four cycles a feature in each of the first two
//           loops, where memory brings a feature in less than one. A third of the bandwidth at best, more
//           likely a tenth.
// NUMERICS  two passes: a deviation is a difference of near numbers, which is exact or nearly so. One float
//           accumulator, whose roundings lean one way once the sum is millions of times as large as its
//           terms: only the proven bound holds.
// TRIED     E[x^2] - E[x]^2 in one pass: the check refuses it where the mean is far larger than the
//           deviation.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

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
    const float rstd = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    for (int64_t j = 0; j < c; ++j) y[j] = x.gamma[j] * ((row[j] - mean) * rstd) + x.beta[j];
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_VARIANT(LayernormFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
