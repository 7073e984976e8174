// groupnorm_bwd.cpu.02_simd: whole vectors, sums of a channel first.
//
// CHANGE    the two sums of each channel in vectors; those of the group are made of them, scaled by gamma.
// EXPECT    one chain of additions is cut into 32, and gamma is a factor of channels, not of numbers: five times at least.
// NUMERICS  32 partial sums with 16 lanes for each channel.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/groupnorm_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const GroupnormBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradients)(x, 0, x.shape.groups); }

KLAB_VARIANT(GroupnormBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
