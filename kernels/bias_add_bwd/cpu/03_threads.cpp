// bias_add_bwd.cpu.03_threads: channels shared out among the cores.
//
// CHANGE    each thread takes a run of channels.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

#include "kernels/common/columns-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/bias_add_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(sum_up);

#if HWY_ONCE
void run(const BiasAddBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const auto part = HWY_DYNAMIC_DISPATCH(sum_up);
  parallel_ranges(all, x.shape.n * all * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(BiasAddBwd, {.run = run,
                          .parent = "02_simd",
                          .forward = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
