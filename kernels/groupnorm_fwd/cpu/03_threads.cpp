// groupnorm_fwd.cpu.03_threads: groups shared out among the cores.
//
// CHANGE    each thread takes a run of groups.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/groupnorm_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const GroupnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n * x.shape.groups;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * x.shape.each * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(GroupnormFwd, {.run = run,
                            .parent = "02_simd",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
