// frequency_bwd.cpu.02_simd: one reduction for a sine and its cosine, lanes at a time.
//
// CHANGE    vectors; argument and quarter turn are found once for both, and two polynomials do the rest.
// EXPECT    many times the parent; then the traffic of the upstream gradient.
// NUMERICS  kernels/common/sincos-inl.h, 2u.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/frequency_bwd/frequency_bwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/sincos-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/frequency_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(gradient);

#if HWY_ONCE
void run(const FrequencyBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradient)(x, 0, x.shape.n); }

KLAB_VARIANT(FrequencyBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "02_simd",
                            .tiles = {16},
                            .expect = {.shape = {1 << 11, 3, 10}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
