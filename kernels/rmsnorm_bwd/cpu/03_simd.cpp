// rmsnorm_bwd.cpu.03_simd: whole vectors, one reading for all sums.
//
// CHANGE    both loops of a row in vectors; the sums of the row in registers, those of the columns in arrays that stay in L1.
// EXPECT    no chain of additions waits: 1.5 times at least, until one core's share of the bandwidth binds.
// NUMERICS  16 partial sums for a row with 16 lanes; down a column one each.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/rmsnorm_bwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(rows);

#if HWY_ONCE
void run(const RmsnormBwd::Args<float>& x) {
  static thread_local Scratch memory;
  const int64_t c = x.shape.c, room = (c + 15) / 16 * 16;
  float* own = memory.floats(1 * room);
  std::fill_n(own, 1 * room, 0.0F);
  HWY_DYNAMIC_DISPATCH(rows)(x, 0, x.shape.n, own);
  std::copy_n(own, c, x.d_gamma);
}

KLAB_VARIANT(RmsnormBwd, {.run = run,
                          .parent = "02_rows",
                          .forward = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
