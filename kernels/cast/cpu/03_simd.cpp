// cast.cpu.03_simd: sixteen numbers at a time.
//
// CHANGE    the parent's additions in vectors of the processor's own width; denormals and NaN by selection. The results are
//           packed to two bytes or to one before they are stored.
// EXPECT    about fifteen instructions a vector: in cache eight times the parent; beyond it one core's bandwidth binds.
// NUMERICS  the contract's bits.
#include <algorithm>
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/cast/cast.h"

KLAB_SIMD_BEGIN();

#include "kernels/cast/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(convert);

#if HWY_ONCE
void run(const Cast::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convert)(x, 0, x.shape.n); }

KLAB_VARIANT(Cast, {.run = run,
                    .parent = "02_bits",
                    .tiles = {16},
                    .expect = {.shape = {1 << 22, 1}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
