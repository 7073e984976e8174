// bias_add_fwd.cpu.02_simd: a channel's numbers are neighbors.
//
// CHANGE    runs of a channel in vectors with one bias, and behind a matrix product rows in vectors with as many; no number
//           asks for its channel.
// EXPECT    the two divisions for each number are gone: ten times at least, as fast as one core copies.
// NUMERICS  as the parent, bit for bit.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/bias_add_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(add);

#if HWY_ONCE
void run(const BiasAddFwd::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(add)(x, 0, x.shape.hw == 1 ? x.shape.n : x.shape.n * x.shape.c);
}

KLAB_VARIANT(BiasAddFwd, {.run = run,
                          .parent = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 5}});
KLAB_SIMD_CLOSE();
#endif
