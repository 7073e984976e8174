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

#include "kernels/transpose/cpu/05_streaming-inl.h"

#include "kernels/transpose/cpu/07_carry-inl.h"

#include "kernels/transpose/cpu/10_realign-inl.h"

#include "kernels/transpose/cpu/10_realign_aligned-inl.h"

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

KLAB_SIMD_ONCE(plain_tile, aligned_tile, any_tile);

#if HWY_ONCE
#include "kernels/common/transpose/10_realign_run-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "08_by_size",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {4099, 4001}, .over_parent = 1.3},
                         .when = {{4099, 4001}, "rows of the result begin anywhere within a line"},
                         .was = {"09_panels"}});
KLAB_SIMD_CLOSE();
#endif
