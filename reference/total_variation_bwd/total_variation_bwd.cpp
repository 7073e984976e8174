#include "reference/total_variation_bwd/total_variation_bwd.h"

#include <cmath>

namespace klab {

void TotalVariationBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t n = x.shape.points;
  for (int64_t p = 0; p < n; ++p) {
    double sum = 0, all = 0;
    for (int64_t m = 1; m < 4; ++m) {
      const double difference = 2 * x.d_loss[p] * (x.raw[m * n + p] - x.raw[p]);
      const double size =
          2 * std::abs(x.d_loss[p]) * (std::abs(x.raw[m * n + p]) + std::abs(x.raw[p])) + 0x1p-126;
      x.d_raw[m * n + p] = difference;
      magnitude.d_raw[m * n + p] = size;
      sum += difference;
      all += size;
    }
    x.d_raw[p] = -sum;
    magnitude.d_raw[p] = all;
  }
}

}  // namespace klab
