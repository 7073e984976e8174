// A matrix transposed tile by tile through two buffers in L2; explained in transpose.cpu.13_long_runs, where it comes from.
//
// Included once per instruction set, after hwy/highway.h, kernels/common/transpose_block-inl.h and transpose/lines-inl.h.
#ifndef KLAB_KERNELS_COMMON_TURN_BUFFERED_TILES
#define KLAB_KERNELS_COMMON_TURN_BUFFERED_TILES

#include <algorithm>
#include <cstdint>

#include "kernels/common/transpose/turn_cut.h"

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

#if defined(KLAB_KERNELS_COMMON_TRANSPOSE_BUFFERED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_TRANSPOSE_BUFFERED_INL_H_
#undef KLAB_KERNELS_COMMON_TRANSPOSE_BUFFERED_INL_H_
#else
#define KLAB_KERNELS_COMMON_TRANSPOSE_BUFFERED_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/common/transpose/lines-inl.h"
#include "kernels/common/transpose_block-inl.h"
#include "reference/transpose/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per target
