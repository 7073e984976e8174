// vector_add.cpu.04_streaming_stores: the sum goes to memory without being read first.
//
// CHANGE    each piece is peeled to the first cache line of `c`; from there on whole lines leave by
//           streaming stores.
// EXPECT    beyond the caches up to 16/12 = 1.33 times: a plain store reads the line before it changes it
//           (write allocate), 16 bytes per element move; streamed, 12. In cache much slower: every line goes
//           out to memory.
// NUMERICS  as the parent.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/vector_add/vector_add.h"

#include "hwy/cache_control.h"

KLAB_SIMD_BEGIN();

// Elements [i, end).
void add(const VectorAdd::Args<float>& x, int64_t i, int64_t end) {
  constexpr int64_t kLine = 16;                 // floats
  const hn::CappedTag<float, size_t(kLine)> d;  // no longer than a line, so that lines divide into vectors
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto sum = [&](int64_t k) { return hn::Add(hn::LoadU(d, x.a + k), hn::LoadU(d, x.b + k)); };
  // Elements up to the next line: c + i lies `past` elements behind a line's beginning.
  const int64_t past = int64_t(reinterpret_cast<uintptr_t>(x.c + i) / sizeof(float)) % kLine;
  const int64_t peeled = std::min(end, i + (kLine - past) % kLine);
  for (; i < peeled; ++i) x.c[i] = x.a[i] + x.b[i];
  for (; i + kLine <= end; i += kLine)
    for (int64_t k = i; k < i + kLine; k += lanes) hn::Stream(sum(k), d, x.c + k);
  for (; i < end; ++i) x.c[i] = x.a[i] + x.b[i];
  hwy::FlushStream();  // streamed lines become visible to other cores
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
                         .parent = "03_threads",
                         .tiles = {16, kEnough},
                         .expect = {.shape = {1 << 25}, .over_parent = 1.15}});
KLAB_SIMD_CLOSE();
#endif
