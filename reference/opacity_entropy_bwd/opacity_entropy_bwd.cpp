#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

void OpacityEntropyBwd::arrange(const Args<float>& x, Generator& random) {
  OpacityEntropyFwd::arrange({x.shape, x.opacity, nullptr}, random);
}

void OpacityEntropyBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double log = std::log(x.opacity[r] + OpacityEntropyFwd::floor);
    x.d_opacity[r] = -x.d_loss[r] * (log + 1);
    magnitude.d_opacity[r] = std::abs(x.d_loss[r]) * (std::abs(log) + 1);
  }
}

}  // namespace klab
