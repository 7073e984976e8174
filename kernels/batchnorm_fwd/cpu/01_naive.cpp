// batchnorm_fwd.cpu.01_naive: channel by channel, as the formulas read.
//
// CHANGE    the naive loops: for each channel its mean, its variance, its outputs; examples outside, positions inside.
// EXPECT    chains of additions, as of layernorm_fwd. Where hw is 1 a channel is a column, and each number of it lies in
//           another line of memory: sixteen times the bytes, three times over.
// NUMERICS  two passes; one float accumulator.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

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
    x.running_mean[j] += *x.momentum * (mean - x.running_mean[j]);
    x.running_var[j] += *x.momentum * (unbiased * variance - x.running_var[j]);
  }
}

KLAB_VARIANT(BatchnormFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
