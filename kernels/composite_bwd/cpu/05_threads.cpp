// composite_bwd.cpu.05_threads: rays shared out among the cores.
//
// CHANGE    each thread takes a run of neighboring rays with about as many samples as the others.
// EXPECT    a factor near the number of cores within the caches, the bandwidth of the memory beyond.
// NUMERICS  as the parent, bit for bit: a ray is never divided.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_bwd/composite_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_bwd/cpu/04_flat_exponentials-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "04_flat_exponentials",
                            .forward = "08_threads",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.6}});
KLAB_SIMD_CLOSE();
#endif
