// transpose.cpu.07_carry: whole lines also where the output rows begin anywhere.
//
// CHANGE    when m is no multiple of 16 every output row begins at another place within a line. A panel of
//           columns is then walked downwards, and of each output row the last sixteen elements are carried
//           from step to step, so that every line but the first and the last of a row leaves whole, by one
//           streaming store.
// EXPECT    beyond the caches and with odd sizes 1.5 times or more, no change with even ones. Not all that
//           the parent reaches there: each line makes a detour through L1, three stores in place of one.
// NUMERICS  copies bits.
// TRIED     see NOTES.md, cpu.07_carry
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kPanel = 1024;  // columns walked down together
constexpr int64_t kBatch = 64;    // columns transposed before they are written
constexpr int64_t kStep = 64;     // rows a step

// Sixteen rows, up to sixteen columns; every out + c·m is aligned to 64 bytes.
void stream_block(const float* in, int64_t n, float* out, int64_t m, int64_t cols) {
  if (kBlockRows == 16 && cols == 16) {
    for (int64_t c = 0; c < 16; c += 4)
      transpose_four_columns<kBlockRows>(in + c, n, out + c * m, m, StreamStore());
    return;
  }
  const hn::CappedTag<float, 16> d;
  alignas(64) float lines[16 * 16];
  for (int64_t i = 0; i < 16; i += kBlockRows)
    transpose_strip<kBlockRows>(in + i * n, n, lines + i, 16, cols);
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t i = 0; i < 16; i += int64_t(hn::Lanes(d)))
      hn::Stream(hn::Load(d, lines + c * 16 + i), d, out + c * m + i);
}

// Prefetches sixteen lines, one a row, into the second-level cache.
HWY_INLINE void prefetch_block(const float* in, int64_t n) {
  for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n, 0, 2);
}

// Every row of `out` begins on a line. Rows [i, i + rows) and columns [j_begin, j_end).
void aligned_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16, kAhead = 64;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    const int64_t cols = std::min(kCols, j_end - j);
    const float* in = x.in + i * n + j;
    float* out = x.out + j * m + i;
    // Past the end of the rows the walk goes on at the beginning of the next band.
    const bool wraps = j + kAhead >= n;
    const int64_t ahead = wraps ? rows * n + std::min(j + kAhead - n, n - 1) - j : kAhead;
    const int64_t known = std::min(rows, m - i - (wraps ? rows : 0));  // rows that exist there
    for (int64_t r = 0; r < rows; r += 16) {
      if (r + 16 <= known) prefetch_block(in + r * n + ahead, n);
      stream_block(in + r * n, n, out + r, m, cols);
    }
  }
}

HWY_INLINE void copy_line(const float* from, float* to) {
  const hn::CappedTag<float, 16> d;
  for (int64_t k = 0; k < 16; k += int64_t(hn::Lanes(d))) hn::Store(hn::Load(d, from + k), d, to + k);
}

// Writes elements of one output row. `fresh` points at `count` new ones, of which the first belongs to `out`;
// before them lie the sixteen that came last. The lines that are now complete leave:
//
//        carried from the last step |  fresh
//   . . . . . . . . . . . . c c c c | f f f f f f f f f f f f f f f f f f f f f f f f f f f
//                           |<-- one line of out -->|<-- one line of out -->|  carried on
//
// At the first step nothing was carried, and at the last nothing may be left: these pieces of lines are
// stored plainly.
HWY_INLINE void emit(const float* fresh, float* out, int64_t count, bool first, bool last) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t past =
      int64_t(reinterpret_cast<uintptr_t>(out) / sizeof(float)) % 16;  // of this line, before `out`
  int64_t k = -past;
  if (first && past > 0) {
    k += 16;
    for (int64_t e = 0; e < std::min(k, count); ++e) out[e] = fresh[e];
  }
  for (; k + 16 <= count; k += 16)
    for (int64_t e = k; e < k + 16; e += lanes) hn::Stream(hn::LoadU(d, fresh + e), d, out + e);
  if (last)
    for (; k < count; ++k) out[k] = fresh[k];
}

// Any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end), at most kPanel of them.
void any_tile(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin,
              int64_t j_end) {
  constexpr int64_t kCols = 16, kWindow = 16 + kStep;
  const int64_t m = x.shape.m, n = x.shape.n;
  alignas(64) float carried[kPanel * 16];
  alignas(64) float window[kBatch * kWindow];  // of each output row: sixteen carried, kStep fresh elements
  for (int64_t i = i_begin; i < i_end; i += kStep) {
    const int64_t rows = std::min(kStep, i_end - i);
    const bool first = i == i_begin, last = i + rows == i_end;
    for (int64_t j0 = j_begin; j0 < j_end; j0 += kBatch) {
      const int64_t j1 = std::min(j_end, j0 + kBatch);
      const bool wraps = j1 == j_end;
      const int64_t ahead = wraps ? kStep * n + j_begin - j0 : kBatch;
      const int64_t known = std::min(rows, m - i - (wraps ? kStep : 0));
      if (!first)
        for (int64_t j = j0; j < j1; ++j)
          copy_line(carried + (j - j_begin) * 16, window + (j - j0) * kWindow);
      // All columns are transposed before the first line leaves: a load that straddles two stores waits until
      // both are in the cache, and stores get there in order, behind any streaming store before them.
      for (int64_t j = j0; j < j1; j += kCols) {
        const float* in = x.in + i * n + j;
        for (int64_t r = 0; r + 16 <= known; r += 16) prefetch_block(in + ahead + r * n, n);
        transpose_block(in, n, window + (j - j0) * kWindow + 16, kWindow, rows, std::min(kCols, j1 - j));
      }
      for (int64_t j = j0; j < j1; ++j) {
        const float* mine = window + (j - j0) * kWindow;
        emit(mine + 16, x.out + j * m + i, rows, first, last);
        if (!last) copy_line(mine + kStep, carried + (j - j_begin) * 16);
      }
    }
  }
}

KLAB_SIMD_END(aligned_tile, any_tile);

#if HWY_ONCE
namespace klab {
namespace {

// Tiles of the matrix, and how they are numbered: along the rows first.
struct Tiling {
  int64_t rows, cols;
};
constexpr Tiling kAligned{32, 1024};  // a band; 4 kB of each input row
constexpr Tiling kAny{1024, 1024};    // long enough that the cut lines at both ends do not matter
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Tiling tiling = aligned ? kAligned : kAny;
  const int64_t down = (m + tiling.rows - 1) / tiling.rows, across = (n + tiling.cols - 1) / tiling.cols;
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * tiling.rows, j = t % across * tiling.cols;
    const int64_t rows = std::min(tiling.rows, m - i), j_end = std::min(n, j + tiling.cols);
    if (aligned) {
      HWY_DYNAMIC_DISPATCH(aligned_tile)(x, i, rows, j, j_end);
    } else {
      HWY_DYNAMIC_DISPATCH(any_tile)(x, i, i + rows, j, j_end);
    }
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();
    return;
  }
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();  // once a thread: the lines it streamed become visible to the others
  }
}

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "06_prefetch",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {4099, 4001}, .over_parent = 1.5},
                         .when = {{4099, 4001}, "rows of the result begin anywhere within a line"}});

}  // namespace
}  // namespace klab
#endif
