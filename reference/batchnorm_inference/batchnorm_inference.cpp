#include "reference/batchnorm_inference/batchnorm_inference.h"

#include <cmath>

#include "reference/generator.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void BatchnormInference::arrange(const Args<float>& x, Generator& random) {
  *const_cast<float*>(x.epsilon) = normalization::draw_epsilon(random);  // arrange() owns the inputs
}

// Scale and shift may be made first, beta - mean·scale: then x and the mean are rounded apart, and the error is
// proportional to the sum of both and not to their difference. Factors below 2^-126 lose up to half the smallest denormal,
// whichever two of the three are multiplied first, and the third scales that.
void BatchnormInference::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, c, hw] = x.shape;
  for (int64_t i = 0; i < n * c; ++i) {
    const int64_t j = i % c;
    const double rstd = 1 / std::sqrt(x.running_var[j] + *x.epsilon), scale = x.gamma[j] * rstd;
    for (int64_t k = i * hw; k < (i + 1) * hw; ++k) {
      const double both = std::abs(x.x[k]) + std::abs(x.running_mean[j]);
      x.y[k] = scale * (x.x[k] - x.running_mean[j]) + x.beta[j];
      magnitude.y[k] =
          std::abs(scale) * both + std::abs(x.beta[j]) + 0x1p-126 * (rstd + both + std::abs(scale));
    }
  }
}

}  // namespace klab
