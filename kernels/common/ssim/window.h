// The window of structural similarity, and the similarity computed from moments, for CUDA rungs.
#pragma once

#include "kernels/common/cuda.h"

namespace klab {
namespace {

/// Returns exp(-i^2/4.5) for |i| <= 5 over their sum, as in the contract.
__device__ __forceinline__ float ssim_tap(int i) {
  switch (i < 0 ? -i : i) {
    case 0:
      return 0.266011725F;
    case 1:
      return 0.213005538F;
    case 2:
      return 0.10936069F;
    case 3:
      return 0.0360007721F;
    case 4:
      return 0.00759875814F;
    default:
      return 0.00102838008F;
  }
}

/// m: E[x], E[y], E[x^2], E[y^2], E[xy].
__device__ __forceinline__ float ssim_value(const float (&m)[5]) {
  const float both = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1];
  return (2 * both + 1e-4F) * (2 * (m[4] - both) + 9e-4F) /
         ((squares + 1e-4F) * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1] + 9e-4F));
}

/// Slopes of it with respect to E[x], E[x^2] and E[xy].
__device__ __forceinline__ void ssim_slopes(const float (&m)[5], float (&d)[3]) {
  const float light = 2 * m[0] * m[1] + 1e-4F, structure = 2 * (m[4] - m[0] * m[1]) + 9e-4F;
  const float light_size = m[0] * m[0] + m[1] * m[1] + 1e-4F;
  const float structure_size = m[2] - m[0] * m[0] + m[3] - m[1] * m[1] + 9e-4F;
  const float inverse = 1 / (light_size * structure_size), value = light * structure * inverse;
  d[0] = 2 * m[1] * (structure - light) * inverse + 2 * m[0] * value * (1 / structure_size - 1 / light_size);
  d[1] = -value / structure_size;
  d[2] = 2 * light * inverse;
}

}  // namespace
}  // namespace klab
