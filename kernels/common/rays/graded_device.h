// A grid whose cells grow with their distance from the middle (reference/graded_grid.h), in CUDA kernels.
#pragma once

#include "kernels/common/cuda.h"

namespace klab {

/// Returns the signed distance of plane k, 0 to `cells`, from the middle.
__device__ __forceinline__ float graded_plane(int shells, int k, int cells) {
  const int m = abs(2 * k - cells);
  float y = float(m) / float(cells);
  if (2 * m > cells) {
    const int outside = cells - m;
    int j = 1;
    while (j < shells && (outside << (j + 1)) <= cells) ++j;
    y = ldexpf(0.25F, j) + (ldexpf(0.5F, -j) - 0.5F * float(outside) / float(cells)) *
                               ldexpf(1.0F, j < shells ? 2 * j : 2 * j - 1);
  }
  return 2 * k < cells ? -y : y;
}

/// Returns the position in the grid, 0 to 1, of signed distance y from the middle.
__device__ __forceinline__ float graded_place(int shells, float y) {
  const float away = fabsf(y);
  float s = 0.5F * away;
  if (away > 0.5F) {
    int j = 1;
    while (j < shells && away > ldexpf(0.5F, j)) ++j;
    s = 0.5F - ldexpf(0.5F, -j) + (away - ldexpf(0.25F, j)) * ldexpf(1.0F, j < shells ? -2 * j : 1 - 2 * j);
  }
  return fminf(fmaxf(0.5F + copysignf(s, y), 0.0F), 1.0F);
}

}  // namespace klab
