// Which Gaussians of a batch may show in which patch of a tile: 8x4 pixels, the part of one warp.
//
// A Gaussian shows where its opacity·exp(-q/2) is 1/255 or more, so q is at most 2·ln(255·opacity) there. The least q over
// a rectangle that does not contain the mean lies on a side that faces it, where q is a parabola: two candidates are
// enough. The answer leaves room for the rounding of q at a pixel, so a pixel that shows the Gaussian is never left out.
#pragma once

#include "kernels/common/cuda.h"

namespace klab::cuda {

constexpr int kPatchWidth = 8, kPatchHeight = 4,
              kPatches = 8;  // two next to each other, four below each other

/// Column and row of pixel k of a tile, patch by patch.
__device__ __forceinline__ int patch_column(int k) { return (k / 32 % 2) * kPatchWidth + k % kPatchWidth; }
__device__ __forceinline__ int patch_row(int k) { return k / 64 * kPatchHeight + k % 32 / kPatchWidth; }

struct GaussianReach {
  float x, y, xx, xy, yy, most;  // mean, conic, greatest q
  float by_x, by_y;              // where q is least: dy = by_x·dx for one dx, dx = by_y·dy for one dy
  bool sure;                     // the conic is far enough from singular

  __device__ __forceinline__ GaussianReach(float mean_x, float mean_y, float conic_xx, float conic_xy,
                                           float conic_yy, float opacity)
      : x(mean_x),
        y(mean_y),
        xx(conic_xx),
        xy(conic_xy),
        yy(conic_yy),
        most(2 * logf(255 * opacity) + 1e-3F) {
    by_x = -xy / yy;
    by_y = -xy / xx;
    sure = xx * yy - xy * xy > 0x1p-16F * xx * yy;
  }

  /// Returns q, less what rounding may add.
  __device__ __forceinline__ float least(float dx, float dy) const {
    const float a = xx * dx * dx, b = 2 * xy * dx * dy, c = yy * dy * dy;
    return a + b + c - 0x1p-18F * (a + fabsf(b) + c);
  }

  /// Returns whether the patch whose first pixel has its center at (left, top) may show the Gaussian.
  __device__ __forceinline__ bool shows(float left, float top) const {
    const float x0 = x - (left + float(kPatchWidth - 1)), x1 = x - left;
    const float y0 = y - (top + float(kPatchHeight - 1)), y1 = y - top;
    const float dx = fminf(fmaxf(0, x0), x1), dy = fminf(fmaxf(0, y0), y1);
    const float q =
        fminf(least(dx, fminf(fmaxf(by_x * dx, y0), y1)), least(fminf(fmaxf(by_y * dy, x0), x1), dy));
    return !(sure && q > most);
  }
};

}  // namespace klab::cuda
