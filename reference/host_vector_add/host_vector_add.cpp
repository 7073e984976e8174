#include "reference/host_vector_add/host_vector_add.h"

#include <cmath>

namespace klab {

void HostVectorAdd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.c[i] = x.a[i] + x.b[i];
    magnitude.c[i] = std::abs(x.a[i]) + std::abs(x.b[i]);
  }
}

}  // namespace klab
