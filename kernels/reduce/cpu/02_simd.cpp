// reduce.cpu.02_simd: eight vectors of sums.
//
// CHANGE    eight vectors in place of one number, added up at the end. No addition waits for the one before it.
// EXPECT    two vectors a cycle in place of a number in four: in L1 as fast as loads come, more than ten times; beyond the
//           caches what memory gives to one core, three times at least.
// NUMERICS  an element passes through n/(8·lanes) additions in place of n: the sum is more exact than the parent's.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/reduce/reduce.h"

KLAB_SIMD_BEGIN();

#include "kernels/reduce/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(sum_of);

#if HWY_ONCE
void run(const Reduce::Args<float>& x) { *x.sum = HWY_DYNAMIC_DISPATCH(sum_of)(x.x, 0, x.shape.n); }

KLAB_VARIANT(Reduce, {.run = run,
                      .parent = "01_naive",
                      .tiles = {16, 128},
                      .expect = {.shape = {2048}, .over_parent = 8}});
KLAB_SIMD_CLOSE();
#endif
