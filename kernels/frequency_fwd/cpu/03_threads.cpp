// frequency_fwd.cpu.03_threads: positions shared out among the cores.
//
// CHANGE    each thread takes a run of positions.
// EXPECT    the bandwidth of the memory, most of it writes.
// NUMERICS  as the parent, bit for bit.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/frequency_fwd/frequency_fwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/sincos-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/frequency_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(encode);

#if HWY_ONCE
void run(const FrequencyFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(encode);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // below, waking a thread takes longer than the work
  // Cut at multiples of a cache line of floats.
  parallel_ranges(n, n >= kWorthThreads, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(FrequencyFwd, {.run = run,
                            .parent = "02_simd",
                            .tiles = {16},
                            .expect = {.shape = {1 << 18, 3, 10}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
