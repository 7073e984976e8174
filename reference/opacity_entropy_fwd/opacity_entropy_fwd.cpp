#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"

#include <cmath>

namespace klab {

void OpacityEntropyFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double o = x.opacity[r] + floor;
    x.loss[r] = -o * std::log(o);
    magnitude.loss[r] = o * (std::abs(std::log(o)) + 1);
  }
}

}  // namespace klab
