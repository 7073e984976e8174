// matvec_int4.cpu.02_simd: one mask and one shift for 32 weights.
//
// CHANGE    a block's sixteen bytes are widened to integers; their low halves are sixteen neighbors, their high halves the
//           next sixteen. The scale is multiplied into vectors of sums, which are joined once a row.
// EXPECT    some twelve instructions for 32 weights in place of a hundred: six times the parent and more.
// NUMERICS  float; up to 32 partial sums.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"

KLAB_SIMD_BEGIN();

#include "kernels/matvec_int4/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(multiply);

#if HWY_ONCE
void run(const MatvecInt4::Args<float>& x) { HWY_DYNAMIC_DISPATCH(multiply)(x, 0, x.shape.n); }

KLAB_VARIANT(MatvecInt4, {.run = run,
                          .parent = "01_naive",
                          .tiles = {1},
                          .expect = {.shape = {4096, 128}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
