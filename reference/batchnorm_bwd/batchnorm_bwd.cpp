#include "reference/batchnorm_bwd/batchnorm_bwd.h"

#include "reference/batchnorm_fwd/channel.h"
#include "reference/layernorm_fwd/moments.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void BatchnormBwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t N = BatchnormFwd::count(x.shape);
  for (int64_t j = 0; j < x.shape.c; ++j) {
    const normalization::Channel at{j, x.shape.c, x.shape.hw};
    normalization::make_hard(const_cast<float*>(x.x), N, at, terms(x.shape),
                             random);  // arrange() owns the inputs
    const normalization::Moments m(N, [&](int64_t k) { return double(x.x[at(k)]); });
    const_cast<float*>(x.mean)[j] = float(m.mean);
    const_cast<float*>(x.rstd)[j] = float(m.rstd(1e-5));
  }
}

// As layernorm_bwd, with gamma outside the sums.
void BatchnormBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t N = BatchnormFwd::count(x.shape);
  for (int64_t j = 0; j < x.shape.c; ++j) {
    const normalization::Channel at{j, x.shape.c, x.shape.hw};
    double sum = 0, product = 0, sum_size = 0, product_size = 0;
    const double rstd = x.rstd[j], share = 1 / double(N);
    const auto normalized = [&](int64_t k) { return (x.x[at(k)] - x.mean[j]) * rstd; };
    for (int64_t k = 0; k < N; ++k) {
      const double xhat = normalized(k), d_y = x.d_y[at(k)];
      sum += d_y;
      product += d_y * xhat;
      sum_size += std::abs(d_y);
      product_size += std::abs(d_y) * (std::abs(xhat) + rstd * 0x1p-126) + 0x1p-126;
    }
    x.d_beta[j] = sum, magnitude.d_beta[j] = sum_size;
    x.d_gamma[j] = product, magnitude.d_gamma[j] = product_size;
    for (int64_t k = 0; k < N; ++k) {
      const double xhat = normalized(k), d_y = x.d_y[at(k)];
      const double lost = 0x1p-126 * (1 + std::abs(xhat)) * (1 + rstd);
      const double inner = std::abs(d_y) + sum_size * share + std::abs(xhat) * product_size * share + lost;
      x.d_x[at(k)] = x.gamma[j] * rstd * (d_y - sum * share - xhat * product * share);
      magnitude.d_x[at(k)] = (std::abs(x.gamma[j]) * rstd + 0x1p-126) * inner + rstd * 0x1p-126;
    }
  }
}

}  // namespace klab
