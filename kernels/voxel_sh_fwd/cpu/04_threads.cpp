// voxel_sh_fwd.cpu.04_threads: points shared out.
//
// CHANGE    threads take stretches of 1024 points, one after the other.
// EXPECT    near the number of cores, until memory is busy.
// NUMERICS  as the parent.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/voxel_sh_fwd/cpu/02_rows-inl.h"

template <int kBasis>
void points(const VoxelShFwd::Args<float>& x, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;
  VoxelCorners corners[kBlock];
  const int64_t n = x.shape.n;
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(end, first + kBlock);
    for (int64_t i = first; i < last; ++i) {
      VoxelCorners& at = corners[i - first];
      at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
      for (const int32_t row : at.row) {
        if (row < 0) continue;
        __builtin_prefetch(x.density + row);
        constexpr int64_t kLine = 16;  // floats
        for (int64_t f = 0; f < 3 * kBasis; f += kLine)
          __builtin_prefetch(x.coefficients + row * 3 * kBasis + f);
      }
    }
    for (int64_t i = first; i < last; ++i) {
      const VoxelCorners& at = corners[i - first];
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

KLAB_SIMD_END(all_points);

#if HWY_ONCE
namespace klab {
namespace {

constexpr int64_t kStretch = 1024;  // points

void run(const VoxelShFwd::Args<float>& x) {
  const int64_t n = x.shape.n;
#pragma omp parallel for schedule(dynamic) if (n > kStretch)
  for (int64_t begin = 0; begin < n; begin += kStretch)
    HWY_DYNAMIC_DISPATCH(all_points)(x, begin, std::min(n, begin + kStretch));
}

KLAB_VARIANT(VoxelShFwd, {.run = run,
                          .parent = "03_prefetch",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {16, 64, kStretch},
                          .expect = {.shape = {1 << 17, 128, 1 << 18, 9}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
