// voxel_sh_bwd.cpu.03_prefetch: rows are prefetched before they are needed.
//
// CHANGE    corners of 32 points are found first, and each row's lines are prefetched for writing as soon as
//           its number is known; then the points add.
// EXPECT    an addition to memory waits for the line that it adds to. With dozens of lines in flight it no
//           longer does.
// NUMERICS  as the parent.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

KLAB_SIMD_BEGIN();

#include "kernels/voxel_sh_bwd/cpu/02_rows-inl.h"

constexpr int64_t kBlock = 32;  // points

template <int kBasis>
HWY_INLINE void ask_for(const VoxelShBwd::Args<float>& x, const VoxelCorners& at) {
  constexpr int64_t kLine = 16, kNumbers = 3 * kBasis;
  for (const int32_t row : at.row) {
    if (row < 0) continue;
    __builtin_prefetch(x.d_density + row, 1);
    for (int64_t f = 0; f < kNumbers; f += kLine)
      __builtin_prefetch(x.d_coefficients + row * kNumbers + f, 1);
  }
}

template <int kBasis>
HWY_INLINE void add_point(const VoxelShBwd::Args<float>& x, const VoxelCorners& at, int64_t i) {
  HWY_ALIGN float number[27];
  if constexpr (kBasis > 0) numbers_of<kBasis>(x, i, number);
  for (int c = 0; c < 8; ++c) {
    if (at.row[c] < 0) continue;
    x.d_density[at.row[c]] += at.weight[c] * x.d_raw[i];
    if constexpr (kBasis > 0)
      add_row<3 * kBasis>(at.weight[c], number, x.d_coefficients + at.row[c] * int64_t(3 * kBasis));
  }
}

template <int kBasis>
void points(const VoxelShBwd::Args<float>& x) {
  VoxelCorners corners[kBlock];
  for (int64_t first = 0; first < x.shape.n; first += kBlock) {
    const int64_t last = std::min(x.shape.n, first + kBlock);
    for (int64_t i = first; i < last; ++i) {
      corners[i - first] = voxel_corners(x.positions, x.links, x.shape.n, x.shape.grid, i);
      ask_for<kBasis>(x, corners[i - first]);
    }
    for (int64_t i = first; i < last; ++i) add_point<kBasis>(x, corners[i - first], i);
  }
}

#include "kernels/voxel_sh_bwd/cpu/02_rows_all-inl.h"

KLAB_SIMD_ONCE(all_points);

#if HWY_ONCE
void run(const VoxelShBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(all_points)(x); }

KLAB_VARIANT(VoxelShBwd, {.run = run,
                          .parent = "02_rows",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {8, 32},
                          .expect = {.shape = {1 << 17, 128, 1 << 18, 9}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
