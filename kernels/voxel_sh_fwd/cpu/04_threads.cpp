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

#include "kernels/common/voxels/02_rows-inl.h"

#include "kernels/voxel_sh_fwd/cpu/02_rows-inl.h"

#include "kernels/voxel_sh_fwd/cpu/03_prefetch-inl.h"

KLAB_SIMD_ONCE(all_points);

#if HWY_ONCE
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
KLAB_SIMD_CLOSE();
#endif
