#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

void OpacityEntropyFwd::arrange(const Args<float>& x, Generator& random) {
  for (int64_t r = 0; random.widely && r < x.shape.rays; ++r)
    if (random() % 4 == 0) const_cast<float*>(x.opacity)[r] = random() % 2 ? 1.0F : 0.0F;
}

void OpacityEntropyFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const double o = x.opacity[r] + floor;
    x.loss[r] = -o * std::log(o);
    magnitude.loss[r] = o * (std::abs(std::log(o)) + 1);
  }
}

}  // namespace klab
