// vector_add.cpu.03_threads: every core takes one contiguous piece.
//
// CHANGE    the vectors are cut into one piece a thread; a piece begins at a multiple of 16 elements, so
//           that no two threads write the same cache line when `c` is aligned.
// EXPECT    about the number of cores in L2; beyond the caches as much as one core leaves of the memory's
//           bandwidth: a core alone is limited by the misses it can have in flight, not by the memory.
// NUMERICS  as the parent.
// NEEDS     nothing. Short vectors stay on one thread: waking a team costs a few thousand additions.
// TRIED     see NOTES.md, cpu.03_threads
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/vector_add/vector_add.h"

KLAB_SIMD_BEGIN();

// Elements [i, end).
void add(const VectorAdd::Args<float>& x, int64_t i, int64_t end) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (; i + lanes <= end; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, x.a + i), hn::LoadU(d, x.b + i)), d, x.c + i);
  for (; i < end; ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_SIMD_ONCE(add);

#if HWY_ONCE
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n < kEnough) return HWY_DYNAMIC_DISPATCH(add)(x, 0, n);
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t piece = (n / team + 15) / 16 * 16;
    HWY_DYNAMIC_DISPATCH(add)(x, std::min(n, me * piece), me + 1 == team ? n : std::min(n, (me + 1) * piece));
  }
}

KLAB_VARIANT(VectorAdd, {.run = run,
                         .parent = "02_simd",
                         .tiles = {16, kEnough},
                         .expect = {.shape = {65536}, .over_parent = 1.4}});
KLAB_SIMD_CLOSE();
#endif
