// batchnorm_bwd.cpu.02_simd: vectors along the positions of a channel.
//
// CHANGE    the sums of a channel in vectors, run by run; x and d_y come from L2 for the gradient.
// EXPECT    the chains of additions are cut into 32: three times at least.
// NUMERICS  32 partial sums with 16 lanes for each run. Constants of a channel are multiplied beforehand.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/batchnorm_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const BatchnormBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradients)(x, 0, x.shape.c); }

KLAB_VARIANT(BatchnormBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
