// sh_bwd.cpu.04_threads: directions shared out among the cores.
//
// CHANGE    each thread takes a run of directions.
// EXPECT    the bandwidth of the memory, most of it reads.
// NUMERICS  as the parent, bit for bit.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/sh_bwd/sh_bwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/sh_bwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(gradient);

#if HWY_ONCE
void run(const ShBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(gradient);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // below, waking a thread takes longer than the work
  // Cut at multiples of a cache line of floats.
  parallel_ranges(n, n >= kWorthThreads, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(ShBwd, {.run = run,
                     .parent = "03_simd",
                     .forward = "04_threads",
                     .tiles = {16},
                     .expect = {.shape = {1 << 18, 4}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
