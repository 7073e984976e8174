// batchnorm_fwd.cpu.02_simd: vectors along the positions of a channel.
//
// CHANGE    a channel's runs of positions in vectors, one for each example; its second and third reading come from L2.
// EXPECT    the chains of additions are cut into 64: four times at least.
// NUMERICS  64 partial sums with 16 lanes for each run, runs added in double; two passes over a channel.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/batchnorm_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const BatchnormFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.c); }

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
