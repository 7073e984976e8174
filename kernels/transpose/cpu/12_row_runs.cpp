// transpose.cpu.12_row_runs: the next prefetches are runs of a row, not lines of many rows.
//
// CHANGE    where rows of the result begin on a line, a block of 16x16 prefetched sixteen lines, one of each
//           row. Now it prefetches four runs of 64 columns, a row after the other; the eight blocks of 64
//           columns and 32 rows prefetch for the next eight. The same lines as early as before, in another
//           order, and into L1.
// EXPECT    memory keeps one page of each bank open, a few thousand bytes: four lines of one row find it
//           open, lines of four rows open four. A few percent beyond the caches.
// NUMERICS  copies bits.
// TRIED     see NOTES.md, cpu.12_row_runs
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/transpose/11_whole_lines-inl.h"

#include "kernels/transpose/cpu/07_carry-inl.h"

#include "kernels/transpose/cpu/10_realign-inl.h"

#include "kernels/common/transpose/11_whole_lines_tiles-inl.h"

constexpr int64_t kRun = 64;  // columns of a row that are prefetched together

// Blocks are numbered within kRun columns of a step; each prefetches its share of the rows of the next run,
// which begins at `in` and has `rows` rows.
HWY_INLINE void prefetch_share(const float* in, int64_t n, int64_t rows, int64_t block) {
  constexpr int64_t kShare = kStep / ((kRun / 16) * (kStep / 16));
  for (int64_t r = block * kShare; r < std::min(rows, (block + 1) * kShare); ++r)
    for (int64_t c = 0; c < kRun; c += 16) __builtin_prefetch(in + r * n + c);
}

// Every row of `out` begins on a line. Rows [i, i + rows) and columns [j_begin, j_end).
void aligned_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    const int64_t cols = std::min(kCols, j_end - j);
    const float* in = x.in + i * n + j;
    float* out = x.out + j * m + i;
    // Past the end of the rows the walk goes on at the beginning of the next band.
    const int64_t run = j - (j - j_begin) % kRun + kRun;
    const float* next = run < n ? x.in + i * n + run : x.in + (i + rows) * n;
    const int64_t known = run < n ? rows : std::min(rows, m - i - rows);
    for (int64_t r = 0; r < rows; r += 16) {
      prefetch_share(next, n, known, (j - j_begin) % kRun / 16 * (kStep / 16) + r / 16);
      stream_block(in + r * n, n, out + r, m, cols);
    }
  }
}

KLAB_SIMD_ONCE(plain_tile, aligned_tile, any_tile);

#if HWY_ONCE
#include "kernels/common/transpose/10_realign_run-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "11_whole_lines",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {4800, 4000}, .over_parent = 1.05},
                         .when = {{4096, 4096}, "an open page of memory serves a run of lines"},
                         .was = {"13_long_runs", "14_one_by_one"}});
KLAB_SIMD_CLOSE();
#endif
