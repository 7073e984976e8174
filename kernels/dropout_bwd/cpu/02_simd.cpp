// dropout_bwd.cpu.02_simd: the generator in vectors.
//
// CHANGE    a lane of 64 bits makes the four words of its block of four elements, eight blocks at a time with
//           16 lanes; the words are interleaved into the order of the elements.
// EXPECT    ten rounds of some ten instructions serve 32 elements where the parent takes them for one: twenty
//           times at least, and near the bandwidth of one core.
// NUMERICS  as the parent, bit for bit.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/dropout_bwd/dropout_bwd.h"

#include "kernels/common/philox-inl.h"

KLAB_SIMD_BEGIN();

/// Elements [i, end); i is a multiple of 32.
void drop_part(const DropoutBwd::Args<float>& x, int64_t i, int64_t end) {
  const uint32_t threshold = dropout_threshold(*x.p);
  drop(x.d_y, x.d_x, i, end, threshold, 1 / (1 - *x.p), x.seed, x.offset, false);
}

KLAB_SIMD_ONCE(drop_part);

#if HWY_ONCE
void run(const DropoutBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(drop_part)(x, 0, x.shape.n); }

KLAB_VARIANT(DropoutBwd, {.run = run,
                          .parent = "01_naive",
                          .forward = "01_naive",
                          .tiles = {4, 32, 64},
                          .expect = {.shape = {1 << 23}, .over_parent = 8}});
KLAB_SIMD_CLOSE();
#endif
