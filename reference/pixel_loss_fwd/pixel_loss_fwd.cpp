#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

#include <cmath>

namespace klab {

void PixelLossFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, kind] = x.shape;
  const double d = turn(kind);
  for (int64_t i = 0; i < n; ++i) {
    double loss = 0, bound = 0;
    for (int64_t c = 0; c < 3; ++c) {
      const double e = std::abs(x.prediction[c * n + i] - x.target[c * n + i]);
      const bool line = kind != 0 && e > d;
      loss += kind == 0 ? e * e : line ? d * (e - d / 2) : e * e / 2;
      bound += line ? d * (e + d / 2) : e * e;
    }
    x.loss[i] = loss / 3;
    magnitude.loss[i] = bound / 3;
  }
}

}  // namespace klab
