// hashgrid_fwd.cpu.07_read_first: a level is read through, in order, before points meet it at random.
//
// CHANGE    before the first point a thread reads one byte of each line of its level's table, by four
//           interleaved walks through it. Where points meet every line of a level twice all threads work on
//           that level, each with its part of the points, and each reads all of it through; otherwise a level
//           stays with one thread. The finest go first. Not read where points are too few to touch most
//           lines. The stream of prefetches for the next level is gone.
// EXPECT    a table that no cache holds arrives at the speed of a copy, in place of a wait for each line: the
//           prefetcher sees loads in order and keeps more lines in flight than a core's own misses. Prefetch
//           instructions do not trigger it, and occupy the buffers that misses need. At least 1.2 times
//           faster with few points and a cold table. With many points threads share the last cache: one table
//           in it instead of one a thread.
// NUMERICS  as the parent: every point is computed by one thread with the same operations.
// NEEDS     a cache that holds a level for each thread, and threads that share it.
// TRIED     see NOTES.md, cpu.07_read_first
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/hashgrid/read_through.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"
#include "kernels/hashgrid_fwd/cpu/03_simd_gather-inl.h"

constexpr int64_t kLine = 64;  // bytes of a cache line

/// Returns whether `points` points touch most lines of a level of `bytes` bytes.
bool touches_most(int64_t points, int64_t dim, int64_t bytes) { return points << (dim - 1) >= bytes / kLine; }

template <int kDim, int kFeatures, bool kDense>
void chunk_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, int64_t begin, int64_t end,
              float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  const int64_t bytes = level.entries * kFeatures * 4;
  if (touches_most(end - begin, kDim, bytes)) read_through(table, bytes);
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes)
    points<kDim, kFeatures, kDense>(level, x.positions + i, n, table, out + i, n);
  if (i == end) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[kDim * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < kDim; ++k)
    for (int64_t j = i; j < end; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  points<kDim, kFeatures, kDense>(level, position, kHashgridLanes, table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < end; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

#include "kernels/hashgrid_fwd/cpu/07_read_first-inl.h"

#include "kernels/hashgrid_fwd/cpu/03_simd_gather_dims-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "06_threads",
                           .expect = {.shape = {10000, 3, 16, 2, 18, 16, 2048, 1}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
