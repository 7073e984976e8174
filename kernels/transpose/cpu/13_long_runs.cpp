// transpose.cpu.13_long_runs: where rows meet in sets, tiles are read by the thousand bytes, through a
// buffer.
//
// CHANGE    where rows are a multiple of 2 kB apart, tiles of 64x512 are copied to a buffer in L2, pieces of
//           1 kB of a row after each other, and transposed from there. Before a block of 16x16 leaves one
//           buffer, a piece of the next tile enters the other, and another is prefetched. Other matrices as
//           before.
// EXPECT    1.1 times or more there, beyond the caches. The parent's prefetches, 32 rows ahead, meet in one
//           or two sets of L1, and most of the lines are gone when their turn comes; the buffer is laid out
//           so that nothing meets. And memory keeps one page of each bank open, a few thousand bytes: runs of
//           2 kB a row and of 256 bytes per row of the result find it open more often than 256 and 128 bytes.
//           A piece for a block keeps reading and writing at one pace, without which neither uses its half of
//           the time. The price: one more load and store a line, and L2 has more to do.
// NUMERICS  copies bits.
// NEEDS     300 kB of L2 a thread.
// TRIED     see NOTES.md, cpu.13_long_runs
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/transpose/turn_cut.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose/lines-inl.h"
#include "kernels/common/transpose_block-inl.h"

#ifndef KLAB_TRANSPOSE_13_TILES
#define KLAB_TRANSPOSE_13_TILES
namespace klab {
namespace {

constexpr int64_t kSide = 16;               // rows and columns of a block
constexpr int64_t kRows = 64, kCols = 512;  // of a tile in a buffer; the last ones may have fewer rows
constexpr int64_t kPitch = kCols + kSide;   // of a buffer, so that its rows do not meet in one set
constexpr int64_t kPiece = kSide * kSide;   // columns of a row that come in while a block leaves
constexpr int64_t kPiecesAhead = 4;         // prefetched before they are copied

// Rows [i, i + rows) and columns [j, j + kCols) of the input.
struct Tile {
  int64_t i, rows, j;
};

// An m x n matrix, n a multiple of kCols, cut into tiles numbered along the rows first.
struct Tiling {
  int64_t m, n;
  int64_t across() const { return n / kCols; }
  int64_t tiles() const { return ceil_div(m, kRows) * across(); }
  Tile tile(int64_t number) const {
    const int64_t i = number / across() * kRows;
    return {i, std::min(kRows, m - i), number % across() * kCols};
  }
};

}  // namespace
}  // namespace klab
#endif

KLAB_SIMD_BEGIN();

constexpr int64_t kRun = 64;  // columns of a row that are prefetched together

// Prefetches sixteen lines, one a row, into the second-level cache.
struct AskBlock {
  HWY_INLINE void operator()(const float* in, int64_t n) const {
    for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n, 0, 2);
  }
};

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

// Where the next piece is: tiles [begin, end), in each row by row.
struct Place {
  Place(const Transpose::Args<float>& args, int64_t begin, int64_t last)
      : x(args), tiling{args.shape.m, args.shape.n}, number(begin), end(last), tile(tiling.tile(begin)) {}
  const float* from() const { return x.in + (tile.i + row) * tiling.n + tile.j + col; }
  void next() {
    col += kPiece;
    if (col < kCols) return;
    col = 0;
    if (++row < tile.rows) return;
    row = 0;
    if (++number < end) tile = tiling.tile(number);
  }
  const Transpose::Args<float>& x;
  Tiling tiling;
  int64_t number, end;
  Tile tile;
  int64_t row = 0, col = 0;
};

void prefetch(Place& at) {
  if (at.number == at.end) return;
  for (int64_t c = 0; c < kPiece; c += kSide) __builtin_prefetch(at.from() + c);
  at.next();
}

// A piece comes in, and one is prefetched, line by line.
void bring(Place& asked, Place& copied, float* buffer) {
  const hn::CappedTag<float, kSide> d;
  const float* from = copied.from();
  const float* ahead = asked.number < asked.end ? asked.from() : from;
  float* to = buffer + copied.row * kPitch + copied.col;
  // Unrolled, requests come together, and a core has limited room for lines that it waits for.
#pragma GCC unroll 1
  for (int64_t c = 0; c < kPiece; c += int64_t(hn::Lanes(d))) {
    hn::Store(hn::LoadU(d, from + c), d, to + c);
    __builtin_prefetch(ahead + c);
  }
  copied.next();
  if (asked.number < asked.end) asked.next();
}

// Tiles [begin, end), through two buffers. Every row of `out` begins on a line.
void buffered_tiles(const Transpose::Args<float>& x, int64_t begin, int64_t end, float* buffers) {
  if (begin == end) return;
  const int64_t m = x.shape.m;
  Place asked(x, begin, end), copied = asked;
  for (int64_t k = 0; k < kPiecesAhead; ++k) prefetch(asked);
  while (copied.number == begin) bring(asked, copied, buffers);
  for (int64_t t = begin; t < end; ++t) {
    const Tile tile = copied.tiling.tile(t);
    const float* here = buffers + (t - begin) % 2 * kRows * kPitch;
    float* there = buffers + (t + 1 - begin) % 2 * kRows * kPitch;
    for (int64_t c = 0; c < kCols; c += kSide)
      for (int64_t r = 0; r < tile.rows; r += kSide) {
        // A tile has as many pieces as blocks, or it is followed by one of the last band, with fewer.
        if (copied.number == t + 1 && t + 1 < end) bring(asked, copied, there);
        stream_block(here + r * kPitch + c, kPitch, x.out + (tile.j + c) * m + tile.i + r, m, kSide);
      }
  }
}

// Any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end).
void any_rows(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin,
              int64_t j_end) {
  any_tile(x, i_begin, i_end, j_begin, j_end, AskBlock());
}

KLAB_SIMD_END(plain_tile, aligned_tile, buffered_tiles, any_rows);

#if HWY_ONCE
namespace klab {
namespace {

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool plain = m * n < kBeyond;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Cut cut = plain || aligned ? kBands : panels(m, n, omp_get_max_threads());
  const int64_t down = ceil_div(m, cut.rows), across = ceil_div(n, cut.cols);
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * cut.rows, j = t % across * cut.cols;
    const int64_t rows = std::min(cut.rows, m - i), j_end = std::min(n, j + cut.cols);
    if (plain) {
      HWY_DYNAMIC_DISPATCH(plain_tile)(x, i, rows, j, j_end);
    } else if (aligned) {
      HWY_DYNAMIC_DISPATCH(aligned_tile)(x, i, rows, j, j_end);
    } else {
      HWY_DYNAMIC_DISPATCH(any_rows)(x, i, i + rows, j, j_end);
    }
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();
    return;
  }
  if (aligned && !plain && n % kCols == 0) {
#pragma omp parallel
    {
      static thread_local Scratch scratch;
      const int64_t tiles = Tiling{m, n}.tiles(), threads = omp_get_num_threads(), me = omp_get_thread_num();
      HWY_DYNAMIC_DISPATCH(buffered_tiles)
      (x, tiles * me / threads, tiles * (me + 1) / threads, scratch.floats(2 * kRows * kPitch));
      hwy::FlushStream();
    }
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
                         .parent = "12_row_runs",
                         .tiles = {16, 32, 64, 256, 512, 1024},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1.1},
                         .when = {{4096, 4096}, "rows meet in few sets of every cache"}});

}  // namespace
}  // namespace klab
#endif
