// transpose.cpu.10_realign: lines are put together in registers.
//
// CHANGE    with odd sizes the panels are as tall as the matrix, and their number is a multiple of that of the
//           threads. There a transposed vector is rotated, so that each element is at its place within a line, and
//           joined with the vector before it. The window in L1 is left to the edges. Prefetches are spread evenly
//           between the lines stored.
// EXPECT    beyond the caches and with odd sizes nearly what even ones reach. The window kept reading and
//           writing apart: first many columns were transposed, then many lines stored. Now a line leaves every few
//           instructions, and as often one is prefetched.
// NUMERICS  copies bits.
// NEEDS     vectors of 64 bytes, a whole line; with shorter ones it is its parent.
#include <omp.h>

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
constexpr int64_t kAhead = 64;    // columns between transposition and prefetch

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

// Result in the caches. Rows [i, i + rows) and columns [j_begin, j_end).
void plain_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols)
    transpose_block(x.in + i * n + j, n, x.out + j * m + i, m, rows, std::min(kCols, j_end - j));
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

// The next elements to prefetch: those `by` further on, in the first `rows` rows.
struct Ahead {
  int64_t by, rows;
};

// Any alignment, through a window in L1. Rows [i, i + rows) and columns [j0, j1), at most kBatch of them, of
// each of which `carried` holds the sixteen elements before row i.
void batch(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j0, int64_t j1, float* carried,
           bool first, bool last, Ahead ahead) {
  constexpr int64_t kCols = 16, kWindow = 16 + kStep;
  const int64_t m = x.shape.m, n = x.shape.n;
  alignas(64) float window[kBatch * kWindow];  // of each output row: sixteen carried, kStep fresh elements
  if (!first)
    for (int64_t j = j0; j < j1; ++j) copy_line(carried + (j - j0) * 16, window + (j - j0) * kWindow);
  // All columns are transposed before the first line leaves: a load that straddles two stores waits until
  // both are in the cache, and stores get there in order, behind any streaming store before them.
  for (int64_t j = j0; j < j1; j += kCols) {
    const float* in = x.in + i * n + j;
    for (int64_t r = 0; r + 16 <= ahead.rows; r += 16) prefetch_block(in + ahead.by + r * n, n);
    transpose_block(in, n, window + (j - j0) * kWindow + 16, kWindow, rows, std::min(kCols, j1 - j));
  }
  for (int64_t j = j0; j < j1; ++j) {
    const float* mine = window + (j - j0) * kWindow;
    emit(mine + 16, x.out + j * m + i, rows, first, last);
    if (!last) copy_line(mine + kStep, carried + (j - j0) * 16);
  }
}

#if HWY_MAX_BYTES == 64
using Line = hn::FixedTag<float, 16>;

// One output row on its way. Its lines begin `past` elements before the blocks do. A vector whose lanes are
// rotated by `past` has every element at its place within a line: the lanes below `past` belong to the next
// line, the others complete the line before.
//
//     in the order of rows     a b c d e f g h        next block     i j k l m n o p         past = 3
//     rotated                  f g h a b c d e                       n o p i j k l m
//     one line                                   f g h i j k l m     = lower lanes of the one, rest of the other
struct Row {
  hn::Vec<Line> fresh, rotated;
  hn::Mask<Line> before;  // lanes below `past`
  decltype(hn::SetTableIndices(Line(), static_cast<const int32_t*>(nullptr))) turn;
  int64_t past;
};

struct RealignedStore {
  Row* next;
  HWY_INLINE void operator()(hn::Vec<Line> fresh, Line d, float* to) {
    Row& row = *next++;
    const auto rotated = hn::TableLookupLanes(fresh, row.turn);
    hn::Stream(hn::IfThenElse(row.before, row.rotated, rotated), d, to - row.past);
    row.rotated = rotated;
    row.fresh = fresh;
  }
};

// kStep rows and sixteen columns. `carried` as in batch.
HWY_INLINE void realigned_block(const float* in, int64_t n, float* out, int64_t m, float* carried,
                                Ahead ahead) {
  alignas(64) static constexpr int32_t kLanes[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                                     0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Line d;
  for (int64_t c = 0; c < 16; c += 4) {
    Row row[4];
    for (int64_t k = 0; k < 4; ++k) {
      const auto address = reinterpret_cast<uintptr_t>(out + (c + k) * m);
      row[k].past = int64_t(address / sizeof(float)) % 16;
      row[k].before = hn::FirstN(d, size_t(row[k].past));
      row[k].turn = hn::SetTableIndices(d, kLanes + 16 - row[k].past);
      row[k].rotated = hn::TableLookupLanes(hn::Load(d, carried + (c + k) * 16), row[k].turn);
    }
    for (int64_t r = 0; r < kStep; r += 16) {
      if (r + 16 <= ahead.rows)  // a quarter of the lines with each quarter of the columns
        for (int64_t k = 0; k < 4; ++k) __builtin_prefetch(in + ahead.by + (r + c + k) * n, 0, 2);
      transpose_four_columns<16>(in + r * n + c, n, out + c * m + r, m, RealignedStore{row});
    }
    for (int64_t k = 0; k < 4; ++k) hn::Store(row[k].fresh, d, carried + (c + k) * 16);
  }
}
#endif

// Any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end), at most kPanel of them.
void any_tile(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin,
              int64_t j_end) {
  const int64_t n = x.shape.n;
  alignas(64) float carried[kPanel * 16];
  for (int64_t i = i_begin; i < i_end; i += kStep) {
    const int64_t rows = std::min(kStep, i_end - i);
    const bool first = i == i_begin, last = i + rows == i_end;
    // kAhead columns further; past the end of the panel the walk goes on at the beginning of the next step.
    const auto ahead = [&](int64_t j) {
      if (j + kAhead < j_end) return Ahead{kAhead, rows};
      const int64_t there = std::min(j_begin + j + kAhead - j_end, j_end - 1);
      return Ahead{kStep * n + there - j, std::min(kStep, i_end - i - kStep)};
    };
    int64_t j = j_begin;
#if HWY_MAX_BYTES == 64
    if (!first && !last)
      for (; j + 16 <= j_end; j += 16)
        realigned_block(x.in + i * n + j, n, x.out + j * x.shape.m + i, x.shape.m,
                        carried + (j - j_begin) * 16, ahead(j));
#endif
    for (; j < j_end; j += kBatch)
      batch(x, i, rows, j, std::min(j_end, j + kBatch), carried + (j - j_begin) * 16, first, last, ahead(j));
  }
}

KLAB_SIMD_END(plain_tile, aligned_tile, any_tile);

#if HWY_ONCE
namespace klab {
namespace {

constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kBeyond = 1000000;  // elements from which on they are streamed

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// About 1 / parts of `size`, a multiple of sixteen.
int64_t even_part(int64_t size, int64_t parts) { return ceil_div(ceil_div(size, parts), 16) * 16; }

// How the matrix is cut: tiles of `rows` x `cols` elements, numbered along the rows first.
struct Tiling {
  int64_t rows, cols;
};

// A band; 4 kB of each input row.
constexpr Tiling kBands{32, 1024};

// Panels at most as wide as any_tile can take, and tall, so that few lines are cut; the same number for each
// thread. A matrix too narrow for that is cut across.
Tiling panels(int64_t m, int64_t n, int64_t threads) {
  constexpr int64_t kWide = 1024, kNarrow = 64, kTall = 8192, kShort = 256;
  const int64_t across = ceil_div(ceil_div(n, kWide), threads) * threads;
  const int64_t down = ceil_div(m, kTall);
  if (n / across >= kNarrow) return {even_part(m, down), even_part(n, across)};
  return {std::max(even_part(m, ceil_div(down, threads) * threads), kShort), kWide};
}

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool plain = m * n < kBeyond;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Tiling tiling = plain || aligned ? kBands : panels(m, n, omp_get_max_threads());
  const int64_t down = ceil_div(m, tiling.rows), across = ceil_div(n, tiling.cols);
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * tiling.rows, j = t % across * tiling.cols;
    const int64_t rows = std::min(tiling.rows, m - i), j_end = std::min(n, j + tiling.cols);
    if (plain) {
      HWY_DYNAMIC_DISPATCH(plain_tile)(x, i, rows, j, j_end);
    } else if (aligned) {
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
                         .parent = "08_by_size",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {4099, 4001}, .over_parent = 1.3},
                         .when = {{4099, 4001}, "rows of the result begin anywhere within a line"},
                         .was = {"09_panels"}});

}  // namespace
}  // namespace klab
#endif
