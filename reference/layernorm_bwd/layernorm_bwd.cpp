#include "reference/layernorm_bwd/layernorm_bwd.h"

#include "reference/layernorm_fwd/moments.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void LayernormBwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t c = x.shape.c;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    auto* row = const_cast<float*>(x.x) + i * c;  // arrange() owns the inputs
    normalization::make_hard(
        row, c, [](int64_t j) { return j; }, LayernormFwd::terms(x.shape), random);
    const normalization::Moments m(c, [&](int64_t j) { return double(row[j]); });
    const_cast<float*>(x.mean)[i] = float(m.mean);
    const_cast<float*>(x.rstd)[i] = float(m.rstd(1e-5));
  }
}

// The deviation x - mean of two given floats errs by u of itself, so xhat by 2u: nothing cancels before the
// sums. Each of the three summands of d_x errs by T·u of its terms. A product below 2^-126 loses at most half
// the smallest denormal, which is scaled by rstd and xhat afterwards.
void LayernormBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, c] = x.shape;
  for (int64_t j = 0; j < c; ++j)
    for (double* sum : {x.d_gamma, x.d_beta, magnitude.d_gamma, magnitude.d_beta}) sum[j] = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double *row = x.x + i * c, *d_y = x.d_y + i * c;
    double sum = 0, product = 0, sum_size = 0, product_size = 0;
    for (int64_t j = 0; j < c; ++j) {
      const double xhat = (row[j] - x.mean[i]) * x.rstd[i], g = d_y[j] * x.gamma[j];
      sum += g;
      product += g * xhat;
      sum_size += std::abs(g);
      product_size += std::abs(g * xhat);
      x.d_gamma[j] += d_y[j] * xhat;
      x.d_beta[j] += d_y[j];
      magnitude.d_gamma[j] += std::abs(d_y[j]) * (std::abs(xhat) + x.rstd[i] * 0x1p-126) + 0x1p-126;
      magnitude.d_beta[j] += std::abs(d_y[j]);
    }
    const double count = double(c);
    for (int64_t j = 0; j < c; ++j) {
      const double xhat = (row[j] - x.mean[i]) * x.rstd[i], g = d_y[j] * x.gamma[j];
      x.d_x[i * c + j] = x.rstd[i] * (g - sum / count - xhat * (product / count));
      const double lost = 0x1p-126 * (1 + std::abs(xhat)) * (1 + x.rstd[i]);
      magnitude.d_x[i * c + j] =
          x.rstd[i] * (std::abs(g) + sum_size / count + std::abs(xhat) * (product_size / count) + lost);
    }
  }
}

}  // namespace klab
