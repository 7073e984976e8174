#include "reference/transpose/transpose.h"

#include <cmath>

namespace klab {

void Transpose::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      x.out[j * m + i] = x.in[i * n + j];
      magnitude.out[j * m + i] = std::abs(x.in[i * n + j]);
    }
}

}  // namespace klab
