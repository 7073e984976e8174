// Whole cache lines transposed and streamed: the common parts of the last rungs of the transpose ladder.
//
// turn_block is explained in transpose.cpu.11_whole_lines, emit and batch in 07_carry, RealignedStore in
// 10_realign. Included once per instruction set, after hwy/highway.h and
// kernels/common/transpose_block-inl.h.
#if defined(KLAB_KERNELS_COMMON_TRANSPOSE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_TRANSPOSE_LINES_INL_H_
#undef KLAB_KERNELS_COMMON_TRANSPOSE_LINES_INL_H_
#else
#define KLAB_KERNELS_COMMON_TRANSPOSE_LINES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/common/transpose_block-inl.h"
#include "reference/transpose/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES == 64
using Line = hn::FixedTag<float, 16>;
using Vector = hn::Vec<Line>;

// Four vectors seen as a 4x4 matrix of groups of four lanes, transposed.
HWY_INLINE void transpose_groups(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Line line;
  const auto ab02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);  // a0 b0 a2 b2
  const auto ab13 = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));  // a1 b1 a3 b3
  const auto cd02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(d), c);
  const auto cd13 = hn::OddEvenBlocks(d, hn::SwapAdjacentBlocks(c));
  a = hn::ConcatLowerLower(line, cd02, ab02);  // a0 b0 c0 d0
  b = hn::ConcatLowerLower(line, cd13, ab13);
  c = hn::ConcatUpperUpper(line, cd02, ab02);
  d = hn::ConcatUpperUpper(line, cd13, ab13);
}

// Four columns from the groups that hold them.
template <class Store>
HWY_INLINE void finish_four(Vector r0, Vector r1, Vector r2, Vector r3, float* out, int64_t m, Store& store) {
  const Line d;
  const hn::Repartition<uint64_t, Line> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + m);
  store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * m);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * m);
}

/// 16 rows at `in`, n floats apart, any alignment. store(vector, tag, to) gets each of 16 columns, to = out + c·m.
// v[4 * q + r] is row r + 4 q, later columns 4 q to 4 q + 3 of rows r, r + 4, r + 8, r + 12.
template <class Store>
HWY_INLINE void turn_block(const float* in, int64_t n, float* out, int64_t m, Store store) {
  const Line d;
  Vector v[16];
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t q = 0; q < 4; ++q) v[4 * q + r] = hn::LoadU(d, in + (4 * q + r) * n);
    transpose_groups(v[r], v[4 + r], v[8 + r], v[12 + r]);
  }
  // Not a loop: with a long `store` compilers do not unroll it, and then keep v in memory.
  finish_four(v[0], v[1], v[2], v[3], out, m, store);
  finish_four(v[4], v[5], v[6], v[7], out + 4 * m, m, store);
  finish_four(v[8], v[9], v[10], v[11], out + 8 * m, m, store);
  finish_four(v[12], v[13], v[14], v[15], out + 12 * m, m, store);
}
#endif

/// As turn_block, up to sixteen columns, for any vector length; streams lines, so out and m are multiples of 16 floats.
void stream_block(const float* in, int64_t n, float* out, int64_t m, int64_t cols) {
#if HWY_MAX_BYTES == 64
  if (cols == 16) return turn_block(in, n, out, m, StreamStore());
#endif
  const hn::CappedTag<float, 16> d;
  alignas(64) float lines[16 * 16];
  for (int64_t i = 0; i < 16; i += kBlockRows)
    transpose_strip<kBlockRows>(in + i * n, n, lines + i, 16, cols);
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t i = 0; i < 16; i += int64_t(hn::Lanes(d)))
      hn::Stream(hn::Load(d, lines + c * 16 + i), d, out + c * m + i);
}

/// 16 floats; both aligned to 64 bytes.
HWY_INLINE void copy_line(const float* from, float* to) {
  const hn::CappedTag<float, 16> d;
  for (int64_t k = 0; k < 16; k += int64_t(hn::Lanes(d))) hn::Store(hn::Load(d, from + k), d, to + k);
}

/// Writes elements of one output row. `fresh` points at `count` new ones, of which the first belongs to `out`;
/// before them lie the sixteen that came last. The lines that are now complete leave:
///
///        carried from the last step |  fresh
///   . . . . . . . . . . . . c c c c | f f f f f f f f f f f f f f f f f f f f f f f f f f f
///                           |<-- one line of out -->|<-- one line of out -->|  carried on
///
/// At the first step nothing was carried, and at the last nothing may be left: these pieces of lines are
/// stored plainly.
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

/// Result in the caches. Rows [i, i + rows) and columns [j_begin, j_end).
void plain_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols)
    transpose_block(x.in + i * n + j, n, x.out + j * m + i, m, rows, std::min(kCols, j_end - j));
}

constexpr int64_t kPanel = 1024;  // columns walked down together
constexpr int64_t kBatch = 64;    // columns transposed before they are written
constexpr int64_t kStep = 32;     // rows a step
constexpr int64_t kAhead = 64;    // columns between transposition and prefetch

/// The next elements to prefetch: those `by` further on, in the first `rows` rows.
struct Ahead {
  int64_t by, rows;
};

// Any alignment, through a window in L1. Rows [i, i + rows) and columns [j0, j1), at most kBatch of them, of
// each of which `carried` holds the sixteen elements before row i.
template <class Prefetch>
void batch(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j0, int64_t j1, float* carried,
           bool first, bool last, Ahead ahead, Prefetch prefetch) {
  constexpr int64_t kCols = 16, kWindow = 16 + kStep;
  const int64_t m = x.shape.m, n = x.shape.n;
  alignas(64) float window[kBatch * kWindow];  // of each output row: sixteen carried, kStep fresh elements
  if (!first)
    for (int64_t j = j0; j < j1; ++j) copy_line(carried + (j - j0) * 16, window + (j - j0) * kWindow);
  // All columns are transposed before the first line leaves: a load that straddles two stores waits until
  // both are in the cache, and stores get there in order, behind any streaming store before them.
  for (int64_t j = j0; j < j1; j += kCols) {
    const float* in = x.in + i * n + j;
    for (int64_t r = 0; r + 16 <= ahead.rows; r += 16) prefetch(in + ahead.by + r * n, n);
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

/// Result beyond the caches, any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end), at most kPanel of them.
/// prefetch(from, n) prefetches sixteen lines, n floats apart, kAhead columns before they are transposed.
template <class Prefetch>
void any_tile(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin, int64_t j_end,
              Prefetch prefetch) {
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
          if (r + 16 <= ahead(j).rows) prefetch(in + ahead(j).by, n);
          turn_block(in, n, x.out + j * x.shape.m + i + r, x.shape.m,
                     RealignedStore{carried + (j - j_begin) * 16});
        }
#endif
    for (; j < j_end; j += kBatch)
      batch(x, i, rows, j, std::min(j_end, j + kBatch), carried + (j - j_begin) * 16, first, last, ahead(j),
            prefetch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per target
