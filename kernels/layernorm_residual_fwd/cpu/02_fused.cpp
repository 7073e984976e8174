// layernorm_residual_fwd.cpu.02_fused: a row is added, normalized and left.
//
// CHANGE    the addition and the normalization of a row follow each other, in vectors: the sum is still in L1 when it is
//           needed.
// EXPECT    the sum crosses the border to memory once, not twice, and no chain waits: four times at least.
// NUMERICS  64 partial sums with 16 lanes; the sum is rounded once, as it is written.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/layernorm_residual_fwd/cpu/02_fused-inl.h"

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const LayernormResidualFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.n); }

KLAB_VARIANT(LayernormResidualFwd, {.run = run,
                                    .parent = "01_naive",
                                    .tiles = {16, 64},
                                    .expect = {.shape = {8192, 1024}, .over_parent = 2.5}});
KLAB_SIMD_CLOSE();
#endif
