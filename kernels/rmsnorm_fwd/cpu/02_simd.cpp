// rmsnorm_fwd.cpu.02_simd: whole vectors, four chains of them.
//
// CHANGE    both loops in vectors; the sum of squares in four of them, a fused multiply-add each.
// EXPECT    the chain of additions is cut into 64: five times at least, until one core's share of the bandwidth binds.
// NUMERICS  64 partial sums with 16 lanes.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/rmsnorm_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const RmsnormFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.n); }

KLAB_VARIANT(RmsnormFwd, {.run = run,
                          .parent = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
