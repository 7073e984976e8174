// sh_bwd.cpu.03_simd: a direction in each lane.
//
// CHANGE    vectors over neighboring directions, products and sums fused.
// EXPECT    close to the number of lanes times faster while the gradients stay in cache.
// NUMERICS  as the parent, with fewer roundings.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/sh_bwd/sh_bwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/sh_bwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(gradient);

#if HWY_ONCE
void run(const ShBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradient)(x, 0, x.shape.n); }

KLAB_VARIANT(ShBwd, {.run = run,
                     .parent = "02_factored",
                     .forward = "03_simd",
                     .tiles = {16},
                     .expect = {.shape = {1 << 12, 4}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
