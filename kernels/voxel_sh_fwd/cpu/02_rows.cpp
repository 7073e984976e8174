// voxel_sh_fwd.cpu.02_rows: a vector holds the numbers of a row.
//
// CHANGE    corners outside, numbers inside: a row's 27 coefficients lie together, so a vector multiplies eight or sixteen of
//           them by the corner's weight at once. The harmonics come in after the last corner, 27 products; and the logistic
//           function for 64 points at a time, in vectors.
// EXPECT    two to four loads for each corner in place of 27, and no exponential alone. At least 3 times as fast.
// NUMERICS  float, sums in the order of the parent; products fused with sums.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/voxels/02_rows-inl.h"

#include "kernels/voxel_sh_fwd/cpu/02_rows-inl.h"

template <int kBasis>
void points(const VoxelShFwd::Args<float>& x, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;
  const int64_t n = x.shape.n;
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(end, first + kBlock);
    for (int64_t i = first; i < last; ++i) {
      const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
      float raw = 0;
      for (int c = 0; c < 8; ++c) raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : x.density[at.row[c]]);
      x.raw[i] = raw;
      if constexpr (kBasis > 0) colors<kBasis>(x, at, i);
    }
    for (int k = 0; kBasis > 0 && k < 3; ++k) logistic(x.rgb + k * n + first, last - first);
  }
}

void all_points(const VoxelShFwd::Args<float>& x, int64_t begin, int64_t end) {
  switch (x.shape.basis) {
    case 0:
      return points<0>(x, begin, end);
    case 1:
      return points<1>(x, begin, end);
    case 4:
      return points<4>(x, begin, end);
    default:
      return points<9>(x, begin, end);
  }
}

KLAB_SIMD_ONCE(all_points);

#if HWY_ONCE
void run(const VoxelShFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(all_points)(x, 0, x.shape.n); }

KLAB_VARIANT(VoxelShFwd, {.run = run,
                          .parent = "01_naive",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {16, 64},
                          .expect = {.shape = {1 << 17, 128, 1 << 18, 9}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
