// matvec_int4.cpu.03_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows where there are enough weights for it.
// EXPECT    as many times the parent as there are cores, until memory binds.
// NUMERICS  the parent's, bit for bit.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"

KLAB_SIMD_BEGIN();

#include "kernels/matvec_int4/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(multiply);

#if HWY_ONCE
void run(const MatvecInt4::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 16;  // weights worth waking a team for
  const int64_t n = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(multiply);
  parallel_ranges(n, n * x.shape.k() >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(MatvecInt4, {.run = run,
                          .parent = "02_simd",
                          .tiles = {1},
                          .expect = {.shape = {4096, 128}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
