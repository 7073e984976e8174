// visible_limit.cpu.03_threads: rays shared out among the cores.
//
// CHANGE   each thread takes runs of 64 rays.
// EXPECT   near the number of cores where there is work enough; a batch of some ten thousand samples takes less than it
//          takes to wake a thread, and stays on one.
// NUMERICS the exponential of kernels/common/exp-inl.h (1.7u); sums in the order of the contract.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/visible_limit/visible_limit.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/visible_limit/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(look);

#if HWY_ONCE
constexpr int64_t kRun = 64, kFewSamples = 1 << 16;

void run(const VisibleLimit::Args<float>& x) {
  const int64_t rays = x.shape.rays;
#pragma omp parallel for schedule(dynamic, 8) if (x.shape.samples > kFewSamples)
  for (int64_t r = 0; r < rays; r += kRun) HWY_DYNAMIC_DISPATCH(look)(x, r, std::min(rays, r + kRun));
}

KLAB_VARIANT(VisibleLimit, {.run = run, .parent = "02_simd", .tiles = {kRun, kFewSamples}});
KLAB_SIMD_CLOSE();
#endif
