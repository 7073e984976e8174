#include "reference/groupnorm_bwd/groupnorm_bwd.h"

#include "reference/layernorm_fwd/moments.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void GroupnormBwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t N = x.shape.each * x.shape.hw;
  for (int64_t i = 0; i < x.shape.n * x.shape.groups; ++i) {
    auto* set = const_cast<float*>(x.x) + i * N;  // arrange() owns the inputs
    normalization::make_hard(
        set, N, [](int64_t k) { return k; }, GroupnormFwd::terms(x.shape), random);
    const normalization::Moments m(N, [&](int64_t k) { return double(set[k]); });
    const_cast<float*>(x.mean)[i] = float(m.mean);
    const_cast<float*>(x.rstd)[i] = float(m.rstd(1e-5));
  }
}

// As layernorm_bwd.
void GroupnormBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, groups, each, hw] = x.shape;
  const int64_t N = each * hw;
  for (int64_t j = 0; j < groups * each; ++j)
    for (double* sum : {x.d_gamma, x.d_beta, magnitude.d_gamma, magnitude.d_beta}) sum[j] = 0;
  for (int64_t i = 0; i < n * groups; ++i) {
    const double rstd = x.rstd[i], share = 1 / double(N);
    double sum = 0, product = 0, sum_size = 0, product_size = 0;
    for (int64_t k = 0; k < N; ++k) {
      const int64_t channel = i % groups * each + k / hw;
      const double xhat = (x.x[i * N + k] - x.mean[i]) * rstd, d_y = x.d_y[i * N + k],
                   g = d_y * x.gamma[channel];
      const double size = std::abs(d_y) * (std::abs(xhat) + rstd * 0x1p-126) + 0x1p-126;
      sum += g;
      product += g * xhat;
      sum_size += std::abs(g) + 0x1p-126;
      product_size += (std::abs(x.gamma[channel]) + 0x1p-126) * size;
      x.d_gamma[channel] += d_y * xhat;
      x.d_beta[channel] += d_y;
      magnitude.d_gamma[channel] += size;
      magnitude.d_beta[channel] += std::abs(d_y);
    }
    for (int64_t k = 0; k < N; ++k) {
      const double xhat = (x.x[i * N + k] - x.mean[i]) * rstd;
      const double g = x.d_y[i * N + k] * x.gamma[i % groups * each + k / hw];
      const double lost = 0x1p-126 * (1 + std::abs(xhat)) * (1 + rstd);
      x.d_x[i * N + k] = rstd * (g - sum * share - xhat * product * share);
      magnitude.d_x[i * N + k] =
          rstd * (std::abs(g) + sum_size * share + std::abs(xhat) * product_size * share + lost);
    }
  }
}

}  // namespace klab
