// transpose.cpu.06_prefetch: the next lines are prefetched before they are needed.
//
// CHANGE    while a block is transposed, the lines of the block 64 columns further are prefetched into L2; at
//           the end of a band, those of the next band.
// EXPECT    beyond the caches 1.3 times or more. A core waits for memory with the few misses its L1 can
//           have open, and the hardware prefetcher does not follow 32 rows at once. A prefetch into L2
//           holds none of L1's entries, so that more lines are on their way: bandwidth = lines in flight ·
//           64 bytes / latency.
// NUMERICS  copies bits.
// NEEDS     nothing; the gain is for matrices beyond the caches.
// TRIED     see NOTES.md, cpu.06_prefetch
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/transpose/cpu/05_streaming-inl.h"

// Prefetches sixteen lines, one a row, into the second-level cache.
HWY_INLINE void prefetch_block(const float* in, int64_t n) {
  for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n, 0, 2);
}

// Rows [i, i + rows) and columns [j_begin, j_end).
void tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16, kAhead = 64;
  const auto [m, n] = x.shape;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    const int64_t cols = std::min(kCols, j_end - j);
    const float* in = x.in + i * n + j;
    float* out = x.out + j * m + i;
    // Past the end of the rows the walk goes on at the beginning of the next band.
    const bool wraps = j + kAhead >= n;
    const int64_t ahead = wraps ? rows * n + std::min(j + kAhead - n, n - 1) - j : kAhead;
    const int64_t known = std::min(rows, m - i - (wraps ? rows : 0));  // rows that exist there
    if (aligned) {
      for (int64_t r = 0; r < rows; r += 16) {
        if (r + 16 <= known) prefetch_block(in + r * n + ahead, n);
        stream_block(in + r * n, n, out + r, m, cols);
      }
    } else {
      transpose_block(in, n, out, m, rows, cols);
    }
  }
}

KLAB_SIMD_ONCE(tile);

#if HWY_ONCE
constexpr int64_t kBand = 32;         // rows
constexpr int64_t kTileCols = 1024;   // 4 kB of each input row
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

#include "kernels/transpose/cpu/05_streaming_run-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "05_streaming",
                         .tiles = {16, 32, 1024},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
