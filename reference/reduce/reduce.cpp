#include "reference/reduce/reduce.h"

#include <cmath>

namespace klab {

void Reduce::reference(const Args<double>& x, const Args<double>& magnitude) {
  double sum = 0, size = 0;
  bool whole = true;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    sum += x.x[i];
    size += std::abs(x.x[i]);
    whole = whole && x.x[i] == std::trunc(x.x[i]);
  }
  *x.sum = sum;
  *magnitude.sum = whole && size <= 16777216 ? 0 : size;
}

}  // namespace klab
