#include "tests/mutants/probe_scale/probe_scale.h"

#include <cmath>

namespace klab {

void ProbeScale::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    magnitude.y[i] = std::abs(x.y[i]) + std::abs(*x.factor * x.x[i]);
    x.y[i] += *x.factor * x.x[i];
  }
}

}  // namespace klab
