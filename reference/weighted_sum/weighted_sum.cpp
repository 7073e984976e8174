#include "reference/weighted_sum/weighted_sum.h"

#include <cmath>

namespace klab {

void WeightedSum::reference(const Args<double>& x, const Args<double>& magnitude) {
  double size = std::abs(*x.sum);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    *x.sum += x.weight[i] * x.value[i];
    size += std::abs(x.weight[i] * x.value[i]);
  }
  *magnitude.sum = size;
}

}  // namespace klab
