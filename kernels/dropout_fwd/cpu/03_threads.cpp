// dropout_fwd.cpu.03_threads: elements shared out among the cores.
//
// CHANGE    each thread takes a run of elements that begins at a block's first: nothing is handed from one to the other, as
//           the generator has no state.
// EXPECT    up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/dropout_fwd/dropout_fwd.h"

#include "kernels/common/philox-inl.h"

KLAB_SIMD_BEGIN();

/// Elements [i, end); i is a multiple of 32.
void drop_part(const DropoutFwd::Args<float>& x, int64_t i, int64_t end) {
  const uint32_t threshold = dropout_threshold(*x.p);
  drop(x.x, x.y, i, end, threshold, 1 / (1 - *x.p), x.seed, x.offset, false);
}

KLAB_SIMD_ONCE(drop_part);

#if HWY_ONCE
void run(const DropoutFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(drop_part);
  parallel_ranges(all, all >= kEnough, 64, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(DropoutFwd, {.run = run,
                          .parent = "02_simd",
                          .tiles = {4, 32, 64},
                          .expect = {.shape = {1 << 23}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
