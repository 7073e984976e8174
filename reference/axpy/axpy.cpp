#include "reference/axpy/axpy.h"

#include <cmath>

namespace klab {

void Axpy::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    magnitude.y[i] = std::abs(x.y[i]) + std::abs(*x.a * x.x[i]);
    x.y[i] += *x.a * x.x[i];
  }
}

}  // namespace klab
