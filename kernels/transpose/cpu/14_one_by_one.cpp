// transpose.cpu.14_one_by_one: requests keep a distance.
//
// CHANGE    loops that ask for lines are kept loops, in place of sixteen prefetches in a row that compilers make of them. Where
//           rows begin anywhere, lines are asked for into L1 in place of L2.
// EXPECT    1.05 times or more beyond the caches where rows do not meet: a core can wait for two dozen lines or so, those that
//           its own prefetchers ask for among them. Sixteen in one cycle or two fill that room; the next load has to wait, and
//           prefetchers drop what they were about to ask for. An addition and a branch between two requests are enough.
// NUMERICS  copies bits.
// NEEDS     as its parent.
// TRIED     a request behind each line stored, in place of all before a block: slower where rows begin on lines, equal where
//           they begin anywhere. Half of them before a block and half behind it: much slower. Runs of a row where rows begin
//           anywhere: a tenth slower. Shares of the matrix that get smaller, so that threads end together: equal.
#include <omp.h>

#include <algorithm>

#include "harness/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/transpose/transpose.h"

#ifndef KLAB_TRANSPOSE_14_TILES
#define KLAB_TRANSPOSE_14_TILES
namespace klab {
namespace {

constexpr int64_t kSide = 16;               // rows and columns of a block
constexpr int64_t kRows = 64, kCols = 512;  // of a tile in a buffer; the last ones may have fewer rows
constexpr int64_t kPitch = kCols + kSide;   // of a buffer, so that its rows do not meet in one set
constexpr int64_t kPiece = kSide * kSide;   // columns of a row that come in while a block leaves
constexpr int64_t kPiecesAhead = 4;         // asked for before they are copied

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

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

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose/cpu/14_one_by_one.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/transpose_block-inl.h"
#include "kernels/common/turn_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPanel = 1024;  // columns walked down together
constexpr int64_t kBatch = 64;    // columns turned before they are written
constexpr int64_t kStep = 32;     // rows a step
constexpr int64_t kAhead = 64;    // columns between what is turned and what is prefetched
constexpr int64_t kRun = 64;      // columns of a row that are asked for together

// Asks for sixteen lines, one a row. Not unrolled, here and below: see CHANGE.
HWY_INLINE void prefetch_block(const float* in, int64_t n) {
#pragma GCC unroll 1
  for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n);
}

// Blocks are numbered within kRun columns of a step; each asks for its share of the rows of the next run, which begins
// at `in`. Of them `rows` exist.
HWY_INLINE void prefetch_share(const float* in, int64_t n, int64_t rows, int64_t block) {
  constexpr int64_t kShare = kStep / ((kRun / 16) * (kStep / 16));
#pragma GCC unroll 1
  for (int64_t r = block * kShare; r < std::min(rows, (block + 1) * kShare); ++r)
#pragma GCC unroll 1
    for (int64_t c = 0; c < kRun; c += 16) __builtin_prefetch(in + r * n + c);
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

void ask(Place& at) {
  if (at.number == at.end) return;
  for (int64_t c = 0; c < kPiece; c += kSide) __builtin_prefetch(at.from() + c);
  at.next();
}

// A piece comes in, and one is asked for, line by line.
void bring(Place& asked, Place& copied, float* buffer) {
  const hn::CappedTag<float, kSide> d;
  const float* from = copied.from();
  const float* ahead = asked.number < asked.end ? asked.from() : from;
  float* to = buffer + copied.row * kPitch + copied.col;
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
  for (int64_t k = 0; k < kPiecesAhead; ++k) ask(asked);
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

// What to ask for next: the elements `by` further on, in the first `rows` rows.
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
  // All columns are turned before the first line leaves: a load that straddles two stores waits until
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
// Streams whole lines of output rows that begin anywhere. A line begins `past` elements before the block does.
// In a vector rotated by `past` lanes every element has its place within a line: the lanes below `past` belong
// to the next line, the others complete the line before.
//
//     in the order of rows     a b c d e f g h      next block     i j k l m n o p        past = 3, lines of 8
//     rotated                  f g h a b c d e                     n o p i j k l m
//     one line                                   f g h i j k l m
struct RealignedStore {
  float* carried;  // the vector before, of one output row after the other
  HWY_INLINE void operator()(hn::Vec<Line> fresh, Line d, float* to) {
    alignas(64) static constexpr int32_t kLanes[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                                       0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int64_t past = int64_t(reinterpret_cast<uintptr_t>(to) / sizeof(float)) % 16;
    const auto turn = hn::SetTableIndices(d, kLanes + 16 - past);
    const auto before = hn::TableLookupLanes(hn::Load(d, carried), turn);
    const auto after = hn::TableLookupLanes(fresh, turn);
    hn::Stream(hn::IfThenElse(hn::FirstN(d, size_t(past)), before, after), d, to - past);
    hn::Store(fresh, d, carried);
    carried += 16;
  }
};
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
        for (int64_t r = 0; r < kStep; r += 16) {
          const float* in = x.in + (i + r) * n + j;
          if (r + 16 <= ahead(j).rows) prefetch_block(in + ahead(j).by, n);
          turn_block(in, n, x.out + j * x.shape.m + i + r, x.shape.m,
                     RealignedStore{carried + (j - j_begin) * 16});
        }
#endif
    for (; j < j_end; j += kBatch)
      batch(x, i, rows, j, std::min(j_end, j + kBatch), carried + (j - j_begin) * 16, first, last, ahead(j));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(plain_tile);
HWY_EXPORT(aligned_tile);
HWY_EXPORT(buffered_tiles);
HWY_EXPORT(any_tile);

constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kBeyond = 1000000;  // elements from which on they are streamed

// About 1 / parts of `size`, a multiple of sixteen.
int64_t even_part(int64_t size, int64_t parts) { return ceil_div(ceil_div(size, parts), 16) * 16; }

// How the matrix is cut: tiles of so many rows and columns, numbered along the rows first.
struct Cut {
  int64_t rows, cols;
};

// A band; 4 kB of each input row.
constexpr Cut kBands{32, 1024};

// Panels at most as wide as any_tile can take, and tall, so that few lines are cut; the same number for each
// thread. A matrix too narrow for that is cut across.
Cut panels(int64_t m, int64_t n, int64_t threads) {
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
      HWY_DYNAMIC_DISPATCH(any_tile)(x, i, i + rows, j, j_end);
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
                         .parent = "13_long_runs",
                         .tiles = {16, 32, 64, 256, 512, 1024},
                         .expect = {.shape = {4099, 4001}, .over_parent = 1.05}});

}  // namespace
}  // namespace klab
#endif
