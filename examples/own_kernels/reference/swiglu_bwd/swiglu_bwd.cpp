#include "reference/swiglu_bwd/swiglu_bwd.h"

#include <cmath>

namespace klab {

void SwigluBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const double a = x.a[i], b = x.b[i], d_y = x.d_y[i];
    const double s = 1 / (1 + std::exp(-a)), rest = 1 / (1 + std::exp(a));
    x.d_a[i] = d_y * b * s * (1 + a * rest);
    x.d_b[i] = d_y * a * s;
    magnitude.d_a[i] = std::abs(d_y * b) * s * (1 + std::abs(a) * rest);
    magnitude.d_b[i] = std::abs(d_y * a) * s;
  }
}

}  // namespace klab
