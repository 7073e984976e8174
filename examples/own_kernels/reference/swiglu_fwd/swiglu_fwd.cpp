#include "reference/swiglu_fwd/swiglu_fwd.h"

#include <cmath>

namespace klab {

void SwigluFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.y[i] = x.a[i] / (1 + std::exp(-x.a[i])) * x.b[i];
    magnitude.y[i] = std::abs(x.y[i]);
  }
}

}  // namespace klab
