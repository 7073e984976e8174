// Inputs on which normalization goes wrong. The contracts of lab 07 rewrite drawn tensors with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/generator.h"

namespace klab::normalization {

/// Rewrites the numbers x[at(0)] ... x[at(n-1)] that share one mean and one variance. One set in four lies far from zero,
/// at `ratio` times its deviation: there E[x^2] - E[x]^2 has no digit left. One in four has a variance near epsilon, so
/// that it matters where epsilon is added. The rest stays. `terms` bounds the ratio, so that a mean in float stays within
/// a quarter of the deviation.
template <class At>
void make_hard(float* x, int64_t n, const At& at, double terms, Generator& random) {
  const uint64_t kind = random() % 4;
  const double ratio = std::min(1024.0, 0x1p22 / terms);
  const auto offset = float(random() % 2 ? ratio : -ratio);
  for (int64_t i = 0; i < n && kind < 2; ++i) {
    float& value = x[at(i)];
    if (!(std::abs(value) < 100)) return;  // values as large as floats are: as they were drawn
    value = kind == 0 ? offset + value : value * 0x1p-8F;
  }
}

/// Draws the term under the root next to the variance: usually 1e-5, widely from 1e-7 to 0.1.
inline float draw_epsilon(Generator& random) {
  return random.widely ? float(std::pow(10, -1 - 6 * std::uniform_real_distribution<double>(0, 1)(random)))
                       : 1e-5F;
}

}  // namespace klab::normalization
