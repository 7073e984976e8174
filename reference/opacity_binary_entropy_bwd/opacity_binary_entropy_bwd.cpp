#include "reference/opacity_binary_entropy_bwd/opacity_binary_entropy_bwd.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

void OpacityBinaryEntropyBwd::arrange(const Args<float>& x, Generator& random) {
  OpacityBinaryEntropyFwd::arrange({x.shape, x.opacity, nullptr}, random);
}

void OpacityBinaryEntropyBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double o = x.opacity[r];
    const bool clamped = o < Forward::low || o > Forward::high;
    const double log = clamped ? 0 : std::log(o), log_rest = clamped ? 0 : std::log1p(-o);
    x.d_opacity[r] = (log_rest - log) * x.d_loss[r];
    magnitude.d_opacity[r] = (std::abs(log) + std::abs(log_rest)) * std::abs(x.d_loss[r]);
  }
}

}  // namespace klab
