// groupnorm_fwd.cpu.02_simd: whole vectors, four chains of them.
//
// CHANGE    all three loops in vectors; a group is one run for the sums, and one per channel for the output.
// EXPECT    chains are cut into 64: five times at least, until one core's share of the bandwidth binds. Channels of few
//           positions leave lanes empty.
// NUMERICS  64 partial sums with 16 lanes; two passes.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/groupnorm_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const GroupnormFwd::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.n * x.shape.groups);
}

KLAB_VARIANT(GroupnormFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
