// batchnorm_bwd.cpu.01_naive: channel by channel, both sums, then the gradients.
//
// CHANGE    the naive loops; examples outside, positions inside.
// EXPECT    two independent chains of additions, so about the time of one.
// NUMERICS  one float accumulator a sum.
#include "harness/core/registrar.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

namespace klab {
namespace {

/// Calls visit(k) for the position k of each of channel j's numbers.
template <class Visit>
void each(const BatchnormFwd::Shape& s, int64_t j, const Visit& visit) {
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t k = 0; k < s.hw; ++k) visit((i * s.c + j) * s.hw + k);
}

void run(const BatchnormBwd::Args<float>& x) {
  const auto N = float(BatchnormFwd::count(x.shape));
  for (int64_t j = 0; j < x.shape.c; ++j) {
    const float mean = x.mean[j], rstd = x.rstd[j];
    float sum = 0, product = 0;
    each(x.shape, j, [&](int64_t k) {
      sum += x.d_y[k];
      product += x.d_y[k] * ((x.x[k] - mean) * rstd);
    });
    x.d_beta[j] = sum;
    x.d_gamma[j] = product;
    const float scale = x.gamma[j] * rstd;
    each(x.shape, j, [&](int64_t k) {
      x.d_x[k] = scale * (x.d_y[k] - sum / N - (x.x[k] - mean) * rstd * (product / N));
    });
  }
}

KLAB_VARIANT(BatchnormBwd, {.run = run});

}  // namespace
}  // namespace klab
