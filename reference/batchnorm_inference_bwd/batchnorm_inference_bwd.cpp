#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

#include <cmath>

#include "reference/batchnorm_fwd/channel.h"
#include "reference/generator.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void BatchnormInferenceBwd::arrange(const Args<float>& x, Generator& random) {
  *const_cast<float*>(x.epsilon) = normalization::draw_epsilon(random);  // arrange() owns the inputs
}

// Factors below 2^-126 lose up to half the smallest denormal, whichever two are multiplied first, and the others scale that.
void BatchnormInferenceBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, c, hw] = x.shape;
  for (int64_t j = 0; j < c; ++j) {
    const normalization::Channel at{j, c, hw};
    const double rstd = 1 / std::sqrt(x.running_var[j] + *x.epsilon), gamma = std::abs(x.gamma[j]);
    double sum = 0, product = 0, sum_size = 0, product_size = 0;
    for (int64_t k = 0; k < n * hw; ++k) {
      const double d_y = x.d_y[at(k)], deviation = x.x[at(k)] - x.running_mean[j];
      const double size = std::abs(d_y), apart = std::abs(deviation);
      sum += d_y, sum_size += size;
      product += d_y * deviation * rstd;
      product_size += size * apart * rstd + 0x1p-126 * (1 + rstd + size + size * rstd + apart);
      x.d_x[at(k)] = x.gamma[j] * rstd * d_y;
      magnitude.d_x[at(k)] = gamma * rstd * size + 0x1p-126 * (1 + rstd + size + gamma);
    }
    x.d_beta[j] = sum, magnitude.d_beta[j] = sum_size;
    x.d_gamma[j] = product, magnitude.d_gamma[j] = product_size;
  }
}

}  // namespace klab
