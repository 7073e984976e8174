// composite_fwd.cpu.08_threads: rays shared out among the cores.
//
// CHANGE    each thread takes a run of neighboring rays with about as many samples as the others, and
//           prefetches the samples two pieces ahead, as 07_prefetch does.
// EXPECT    beyond the caches, close to the bandwidth of the memory; within them, a factor near the number of cores.
// NUMERICS  as the parent, bit for bit: a ray is never divided.
// TRIED     see NOTES.md, cpu.08_threads
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_fwd/cpu/07_prefetch-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "06_flat_exponentials",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.6}});
KLAB_SIMD_CLOSE();
#endif
