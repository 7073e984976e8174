// voxel_sh_fwd.cpu.03_prefetch: rows are prefetched before they are needed.
//
// CHANGE    corners of 64 points are found first, and each row's lines are prefetched as soon as its number
//           is known; then the points are computed. A point's rows wait for its links, and nothing else does.
// EXPECT    where the tables exceed the caches, dozens of lines in flight in place of a few.
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
void run(const VoxelShFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(all_points)(x, 0, x.shape.n); }

KLAB_VARIANT(VoxelShFwd, {.run = run,
                          .parent = "02_rows",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {16, 64},
                          .expect = {.shape = {1 << 17, 128, 1 << 18, 9}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
