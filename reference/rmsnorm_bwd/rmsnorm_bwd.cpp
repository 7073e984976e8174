#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

#include <cmath>

#include "reference/layernorm_fwd/rows.h"

namespace klab {

void RmsnormBwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t c = x.shape.c;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    auto* row = const_cast<float*>(x.x) + i * c;  // arrange() owns the inputs
    normalization::make_hard(
        row, c, [](int64_t j) { return j; }, RmsnormFwd::terms(x.shape), random);
    double squares = 0;
    for (int64_t j = 0; j < c; ++j) squares += double(row[j]) * row[j];
    const_cast<float*>(x.rrms)[i] = float(1 / std::sqrt(squares / double(c) + 1e-5));
  }
}

// As layernorm_bwd, without the mean.
void RmsnormBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, c] = x.shape;
  for (int64_t j = 0; j < c; ++j) x.d_gamma[j] = magnitude.d_gamma[j] = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double *row = x.x + i * c, *d_y = x.d_y + i * c;
    double product = 0, product_size = 0;
    for (int64_t j = 0; j < c; ++j) {
      const double xhat = row[j] * x.rrms[i], g = d_y[j] * x.gamma[j];
      product += g * xhat / double(c);
      product_size += std::abs(g * xhat) / double(c);
      x.d_gamma[j] += d_y[j] * xhat;
      magnitude.d_gamma[j] += std::abs(d_y[j]) * (std::abs(xhat) + x.rrms[i] * 0x1p-126) + 0x1p-126;
    }
    for (int64_t j = 0; j < c; ++j) {
      const double xhat = row[j] * x.rrms[i], g = d_y[j] * x.gamma[j];
      x.d_x[i * c + j] = x.rrms[i] * (g - xhat * product);
      const double lost = 0x1p-126 * (1 + std::abs(xhat)) * (1 + x.rrms[i]);
      magnitude.d_x[i * c + j] = x.rrms[i] * (std::abs(g) + std::abs(xhat) * product_size + lost);
    }
  }
}

}  // namespace klab
