#include "reference/frequency_fwd/frequency_fwd.h"

#include <cmath>

namespace klab {

void FrequencyFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t k = 0; k < octaves; ++k)
      for (int64_t i = 0; i < n; ++i) {
        const double turn = std::remainder(std::ldexp(x.positions[c * n + i], int(k)), 2.0);
        const int64_t row = (c * octaves + k) * 2;
        x.features[row * n + i] = std::sin(M_PI * turn);
        x.features[(row + 1) * n + i] = std::cos(M_PI * turn);
        magnitude.features[row * n + i] = magnitude.features[(row + 1) * n + i] = 1;
      }
}

}  // namespace klab
