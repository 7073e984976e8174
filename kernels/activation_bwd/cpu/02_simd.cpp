// activation_bwd.cpu.02_simd: slopes without a call, sixteen at a time.
//
// CHANGE    one vector form for each slope. GELU's density is the exponential that its error function takes already.
// EXPECT    some 20 to 30 instructions for a vector in place of a number: ten times at least, but for relu, which the
//           compiler had in vectors already.
// NUMERICS  exponential within 1.7 ulp; error function within 1.5e-7 (kernels/common/activation/functions-inl.h).
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/activation_bwd/activation_bwd.h"

#include "kernels/common/activation/functions-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/activation_bwd/cpu/02_simd_slope-inl.h"

#include "kernels/activation_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(apply);

#if HWY_ONCE
void run(const ActivationBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(apply)(x, 0, x.shape.n); }

KLAB_VARIANT(ActivationBwd, {.run = run,
                             .parent = "01_naive",
                             .forward = "01_naive",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 5}});
KLAB_SIMD_CLOSE();
#endif
