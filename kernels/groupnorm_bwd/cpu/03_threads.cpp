// groupnorm_bwd.cpu.03_threads: groups shared out among the cores.
//
// CHANGE    each thread takes a run of groups, of all examples: no two of them add to one channel.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     more than one group. Little work stays on one thread.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/groupnorm_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const GroupnormBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.groups;
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  parallel_ranges(all, x.shape.n * all * x.shape.each * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(GroupnormBwd, {.run = run,
                            .parent = "02_simd",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
