// activation_fwd.cpu.02_simd: functions without a call, sixteen at a time.
//
// CHANGE    one vector form for each function, all of them made of one exponential: the error function as a polynomial times
//           it, tanh from e^x - 1. Which function is decided outside of the loop.
// EXPECT    some 20 to 30 instructions for a vector in place of a number: ten times at least, but for relu, which the
//           compiler had in vectors already.
// NUMERICS  exponential within 1.7 ulp; error function within 1.5e-7 (kernels/common/activation/functions-inl.h).
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/activation_fwd/activation_fwd.h"

#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/activation/functions-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/activation_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(apply);

#if HWY_ONCE
void run(const ActivationFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(apply)(x, 0, x.shape.n); }

KLAB_VARIANT(ActivationFwd, {.run = run,
                             .parent = "01_naive",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 5}});
KLAB_SIMD_CLOSE();
#endif
