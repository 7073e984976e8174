#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void OpacityBinaryEntropyFwd::arrange(const Args<float>& x, Generator& random) {
  for (int64_t r = 0; random.widely && r < x.shape.rays; ++r)
    if (random() % 4 == 0) const_cast<float*>(x.opacity)[r] = random() % 2 ? 1.0F : 0.0F;
}

void OpacityBinaryEntropyFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double o = std::clamp<double>(x.opacity[r], low, high);
    x.loss[r] = -(o * std::log(o) + (1 - o) * std::log1p(-o));
    magnitude.loss[r] = x.loss[r];
  }
}

}  // namespace klab
