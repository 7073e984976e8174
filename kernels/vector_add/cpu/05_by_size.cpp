// vector_add.cpu.05_by_size: around the caches only when the result would not stay in them anyway.
//
// CHANGE    vectors that together fill less than 12 MB are stored plainly, larger ones streamed; from 2^20
//           elements on.
// EXPECT    the faster of its two ancestors at every size: as 03_threads in cache, as the parent beyond.
// NUMERICS  as the parent.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/vector_add/vector_add.h"

#include "hwy/cache_control.h"

KLAB_SIMD_BEGIN();

// Elements [i, end), result in the caches.
void add_plain(const VectorAdd::Args<float>& x, int64_t i, int64_t end) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (; i + lanes <= end; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, x.a + i), hn::LoadU(d, x.b + i)), d, x.c + i);
  for (; i < end; ++i) x.c[i] = x.a[i] + x.b[i];
}

// Elements [i, end), result to memory.
void add_streamed(const VectorAdd::Args<float>& x, int64_t i, int64_t end) {
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

KLAB_SIMD_ONCE(add_plain, add_streamed);

#if HWY_ONCE
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kBeyond = 1 << 20;  // elements from which on they are streamed

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n < kEnough) return HWY_DYNAMIC_DISPATCH(add_plain)(x, 0, n);
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t piece = (n / team + 15) / 16 * 16;
    const int64_t begin = std::min(n, me * piece), end = me + 1 == team ? n : std::min(n, begin + piece);
    if (n < kBeyond) {
      HWY_DYNAMIC_DISPATCH(add_plain)(x, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(add_streamed)(x, begin, end);
    }
  }
}

KLAB_VARIANT(VectorAdd, {.run = run,
                         .parent = "04_streaming_stores",
                         .tiles = {16, kEnough, kBeyond},
                         .expect = {.shape = {65536}, .over_parent = 2},
                         .when = {{65536}, "what the caches keep should not be sent to memory"}});
KLAB_SIMD_CLOSE();
#endif
