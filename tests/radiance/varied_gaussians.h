// Gaussians no two of which are alike, for tests of files.
#pragma once

#include <cmath>

#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// Returns n Gaussians whose opacities, sizes, turns and coefficients differ.
inline GaussianSet varied_set(int64_t n, int degree) {
  GaussianSet set = random_gaussians(n, degree, 5);
  for (size_t i = 0; i < set.coefficients.size(); ++i) set.coefficients[i] = 0.5F * std::sin(float(3 * i));
  for (size_t i = 0; i < size_t(n); ++i) {
    set.opacity_raw[i] = 0.4F * float(i % 9) - 1.5F;
    for (size_t k = 0; k < 3; ++k) set.log_scale[k * size_t(n) + i] += 0.2F * float((i + k) % 5);
    for (size_t k = 0; k < 4; ++k) set.quaternion[k * size_t(n) + i] = std::sin(float(5 * i + 2 * k + 1));
  }
  return set;
}

}  // namespace klab
