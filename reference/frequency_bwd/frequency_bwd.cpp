#include "reference/frequency_bwd/frequency_bwd.h"

#include <cmath>

namespace klab {

void FrequencyBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < octaves; ++k) {
        const double turn = std::remainder(std::ldexp(x.positions[c * n + i], int(k)), 2.0);
        const double scale = std::ldexp(M_PI, int(k));
        const int64_t row = (c * octaves + k) * 2;
        const double d_sin = x.d_features[row * n + i], d_cos = x.d_features[(row + 1) * n + i];
        sum += scale * (d_sin * std::cos(M_PI * turn) - d_cos * std::sin(M_PI * turn));
        size += scale * (std::abs(d_sin) + std::abs(d_cos));
      }
      x.d_positions[c * n + i] = sum;
      magnitude.d_positions[c * n + i] = size;
    }
}

}  // namespace klab
