// visible_limit.cpu.02_simd: exponentials of one ray in a vector.
//
// CHANGE   optical depths of 16 samples at once; only their sum is sequential, and ends where the ray does.
// EXPECT   a call of exp takes some ten times as long as an addition that waits for the last: several times.
// NUMERICS the exponential of kernels/common/exp-inl.h (1.7u); sums in the order of the contract.
// NEEDS    nothing; up to 15 exponentials a ray are wasted.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/visible_limit/visible_limit.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/visible_limit/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(look);

#if HWY_ONCE
void run(const VisibleLimit::Args<float>& x) { HWY_DYNAMIC_DISPATCH(look)(x, 0, x.shape.rays); }

KLAB_VARIANT(VisibleLimit, {.run = run, .parent = "01_naive", .tiles = {16}});
KLAB_SIMD_CLOSE();
#endif
