// baked_rays.cpu.04_packets: sixteen rays side by side share the exponentials of their samples.
//
// CHANGE    each of sixteen rays finds its next sample and sums its rows; then five exponentials and three divisions of all
//           sixteen are computed in vectors. Rows are prefetched while the other rays look for theirs. Rays that have ended
//           leave the packet.
// EXPECT    five library calls a sample go, and a load from memory waits for fifteen others: at least 1.3 times the parent.
// NUMERICS  as the parent; exponentials of 1.7 units in the last place.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "reference/baked_rays/baked_rays.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/formats/widen-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/baked_rays/cpu/01_naive-inl.h"

#include "kernels/baked_rays/cpu/02_skip_by_distance-inl.h"

#include "kernels/baked_rays/cpu/03_rows-inl.h"

#include "kernels/baked_rays/cpu/04_packets-inl.h"

KLAB_SIMD_ONCE(some_rays);

#if HWY_ONCE
void run(const BakedRays::Args<float>& x) { HWY_DYNAMIC_DISPATCH(some_rays)(x, 0, x.shape.rays); }

KLAB_VARIANT(BakedRays, {.run = run,
                         .parent = "03_rows",
                         .numerics = {.growth = Growth::linear},
                         .tiles = {16},
                         .expect = {.shape = {8192, 128, 1 << 18, 4}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
