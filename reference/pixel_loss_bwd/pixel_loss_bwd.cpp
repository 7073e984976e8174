#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

#include <algorithm>
#include <cmath>

namespace klab {

void PixelLossBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, kind] = x.shape;
  const double d = PixelLossFwd::turn(kind);
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = c * n + i;
      const double e = x.prediction[k] - x.target[k];
      x.d_prediction[k] = x.d_loss[i] * (kind == 0 ? 2 * e : std::clamp(e, -d, d)) / 3;
      magnitude.d_prediction[k] = std::abs(x.d_prediction[k]);
    }
}

}  // namespace klab
