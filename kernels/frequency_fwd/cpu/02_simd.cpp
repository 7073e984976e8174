// frequency_fwd.cpu.02_simd: one reduction for a sine and its cosine, lanes at a time.
//
// CHANGE    vectors; argument and quarter turn are found once for both, and two polynomials do the rest.
// EXPECT    many times the parent; then the outputs' traffic, twenty times the inputs' at ten octaves.
// NUMERICS  kernels/common/sincos-inl.h, 2u. Doubling the argument is exact, so octaves do not add errors.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/frequency_fwd/frequency_fwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/sincos-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/frequency_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(encode);

#if HWY_ONCE
void run(const FrequencyFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode)(x, 0, x.shape.n); }

KLAB_VARIANT(FrequencyFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16},
                            .expect = {.shape = {1 << 11, 3, 10}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
