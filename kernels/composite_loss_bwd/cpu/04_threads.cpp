// composite_loss_bwd.cpu.04_threads: rays shared out among the cores.
//
// CHANGE    each thread takes a run of neighboring rays with about as many samples as the others.
// EXPECT    bytes and operations as the parent's, by two cores: 1.6 times or more at a mean of 32. Beyond the caches the
//           bandwidth of the memory.
// NUMERICS  as the parent, bit for bit: a ray is never divided.
// NEEDS     as its parent.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_loss_bwd/cpu/03_flat_exponentials-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "03_flat_exponentials",
                                .forward = "03_threads",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 1.6}});
KLAB_SIMD_CLOSE();
#endif
