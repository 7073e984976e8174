// groupnorm_bwd.cpu.01_naive: group by group, the sums, then the gradients.
//
// CHANGE    the naive loops. d_gamma and d_beta of a channel grow as its example's group comes by.
// EXPECT    four independent chains of additions, so about the time of one or two.
// NUMERICS  one float accumulator a sum.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

namespace klab {
namespace {

void run(const GroupnormBwd::Args<float>& x) {
  const auto [n, groups, each, hw] = x.shape;
  const int64_t N = each * hw;
  std::fill_n(x.d_gamma, groups * each, 0.0F);
  std::fill_n(x.d_beta, groups * each, 0.0F);
  for (int64_t i = 0; i < n * groups; ++i) {
    const float *set = x.x + i * N, *d_y = x.d_y + i * N;
    const float mean = x.mean[i], rstd = x.rstd[i];
    float sum = 0, product = 0;
    for (int64_t k = 0; k < N; ++k) {
      const int64_t channel = i % groups * each + k / hw;
      const float xhat = (set[k] - mean) * rstd, g = d_y[k] * x.gamma[channel];
      sum += g;
      product += g * xhat;
      x.d_gamma[channel] += d_y[k] * xhat;
      x.d_beta[channel] += d_y[k];
    }
    sum /= float(N);
    product /= float(N);
    for (int64_t k = 0; k < N; ++k) {
      const float g = d_y[k] * x.gamma[i % groups * each + k / hw];
      x.d_x[i * N + k] = rstd * (g - sum - (set[k] - mean) * rstd * product);
    }
  }
}

KLAB_VARIANT(GroupnormBwd, {.run = run});

}  // namespace
}  // namespace klab
