// voxel_sh_bwd.cpu.02_rows: a vector adds to the numbers of a row.
//
// CHANGE    the 27 products of harmonics and gradients of a point are made once; each corner adds them,
//           weighted, to its row, eight numbers at a time. The rest goes number by number: a masked store is
//           not forwarded to the next load, and neighbors share corners.
// EXPECT    three vectors and three numbers for each corner in place of 27 numbers. At least twice as fast.
// NUMERICS  float, contributions in the order of the points; products fused with sums.
#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

KLAB_SIMD_BEGIN();

#include "kernels/voxel_sh_bwd/cpu/02_rows-inl.h"

template <int kBasis>
void points(const VoxelShBwd::Args<float>& x) {
  HWY_ALIGN float number[27];
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const VoxelCorners at = voxel_corners(x.positions, x.links, x.shape.n, x.shape.grid, i);
    if constexpr (kBasis > 0) numbers_of<kBasis>(x, i, number);
    for (int c = 0; c < 8; ++c) {
      if (at.row[c] < 0) continue;
      x.d_density[at.row[c]] += at.weight[c] * x.d_raw[i];
      if constexpr (kBasis > 0)
        add_row<3 * kBasis>(at.weight[c], number, x.d_coefficients + at.row[c] * int64_t(3 * kBasis));
    }
  }
}

#include "kernels/voxel_sh_bwd/cpu/02_rows_all-inl.h"

KLAB_SIMD_ONCE(all_points);

#if HWY_ONCE
void run(const VoxelShBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(all_points)(x); }

KLAB_VARIANT(VoxelShBwd, {.run = run,
                          .parent = "01_naive",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {8},
                          .expect = {.shape = {1 << 17, 128, 1 << 18, 9}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
