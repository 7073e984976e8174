// composite_loss_fwd.cpu.03_threads: rays shared out among the cores.
//
// CHANGE    each thread takes a run of neighboring rays with about as many samples as the others.
// EXPECT    bytes and operations as the parent's, by two cores: 1.6 times or more at a mean of 32. Beyond the caches the
//           bandwidth of the memory.
// NUMERICS  as the parent, bit for bit: a ray is never divided.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_loss_fwd/cpu/02_flat_exponentials-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeLossFwd, {.run = run,
                                .parent = "02_flat_exponentials",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 1.6}});
KLAB_SIMD_CLOSE();
#endif
