// pool_bwd.cpu.04_written_once: the gradient of an average is written, not added up in memory.
//
// CHANGE    averages of channels by rows (NCHW): a picture that is one window is filled with one number. Where windows move by single
//           columns, the sums over the columns of a row of windows are kept for as many rows as meet in a row of d_x, which is
//           then written once.
// EXPECT    the parent clears d_x and adds each row of windows to r rows of it: 2 loads and a store a number and row of the
//           window. Here a load each, and one store. A window as wide as the picture used one lane of a vector. 1.3 times at
//           least for averages of 3x3, five times for one window.
// NUMERICS  as the parent: the same sums in the same order.
// NEEDS     as the parent. A maximum, NHWC and windows that move by several columns go the parent's way.
// TRIED     see NOTES.md, cpu.04_written_once
#include <omp.h>

#include <algorithm>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/pool_bwd/pool_bwd.h"

#include "kernels/common/pool/rows-inl.h"

KLAB_SIMD_BEGIN();

using Args = PoolBwd::Args<float>;

namespace lines = klab::pools::HWY_NAMESPACE;
using lines::kBeyond;
using lines::lanes;
using lines::Scales;
using lines::Sorted;
using lines::Tag;

/// A vector of windows: each tap, in order, takes the gradient where it holds the largest and none before it did.
/// x, d_x: `rows` sorted rows; d_y: readable for a whole vector.
void claim(const PoolShape& s, const Sorted& sorted, int64_t rows, const float* HWY_RESTRICT x,
           const float* HWY_RESTRICT d_y, float* HWY_RESTRICT d_x) {
  const Tag d;
  for (int64_t j = 0; j < s.ow(); j += lanes()) {
    auto largest = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int64_t u = 0; u < rows; ++u)
      for (int64_t v = 0; v < s.s; ++v)
        largest = hn::Max(largest, hn::LoadU(d, x + u * sorted.floats() + sorted.at(v) + j));
    auto left = hn::LoadU(d, d_y + j);  // zero once a tap has it
    for (int64_t u = 0; u < rows; ++u)
      for (int64_t v = 0; v < s.s; ++v) {
        const int64_t at = u * sorted.floats() + sorted.at(v) + j;
        const auto mine = hn::Eq(hn::LoadU(d, x + at), largest);
        hn::StoreU(hn::Add(hn::LoadU(d, d_x + at), hn::IfThenElseZero(mine, left)), d, d_x + at);
        left = hn::IfThenZeroElse(mine, left);
      }
  }
}

/// Writes the gradient of an average with a single window; pixels outside it get zero.
void one_window(const PoolShape& s, float d_y, float* d_x) {
  const PoolShape::Range down = s.rows(0), across = s.columns(0);
  const float each = d_y * (1 / float(s.divisor(down, across)));
  if ((down.end - down.begin) * (across.end - across.begin) == s.h * s.w) {
    std::fill_n(d_x, s.h * s.w, each);
    return;
  }
  std::fill_n(d_x, s.h * s.w, 0.0F);
  for (int64_t p = down.begin; p < down.end; ++p)
    std::fill(d_x + p * s.w + across.begin, d_x + p * s.w + across.end, each);
}

/// Averages of windows that move by single columns.
void written_once(const PoolShape& s, const float* d_y, float* d_x) {
  static thread_local Scratch memory;
  Scales scales(s);
  const int64_t oh = s.oh(), ow = s.ow(), kept = (s.r + s.stride_y - 1) / s.stride_y;
  const int64_t reached = ow + s.s - 1;  // columns, with those around the picture
  const int64_t room =
      std::max(reached, s.pad_x + s.w);  // of a row; a picture may go on behind its last window
  float* scaled = memory.floats(ow + 2 * (s.s - 1) + kept * room);
  float* rows = scaled + ow + 2 * (s.s - 1);
  std::fill_n(scaled, ow + 2 * (s.s - 1) + kept * room, 0.0F);  // the border stays zero
  float* const inner = scaled + s.s - 1;
  const auto sums = [&](int64_t i) { return rows + i % kept * room; };
  int64_t next = 0;  // row of windows without its sums
  for (int64_t p = 0; p < s.h; ++p) {
    const int64_t above = p + s.pad_y - s.r + 1;  // the first window that reaches p begins there or behind
    const int64_t begin = above <= 0 ? 0 : (above + s.stride_y - 1) / s.stride_y;
    const int64_t end = std::min(oh, (p + s.pad_y) / s.stride_y + 1);
    for (; next < end; ++next) {
      const float *scale = scales.of(s.rows(next)), *row = d_y + next * ow;
      for (int64_t j = 0; j < ow; ++j) inner[j] = row[j] * scale[j];
      float* HWY_RESTRICT to = sums(next);
      if (s.s == 3) {
        for (int64_t q = 0; q < reached; ++q) to[q] = inner[q] + inner[q - 1] + inner[q - 2];
        continue;
      }
      std::copy_n(inner, reached, to);
      for (int64_t v = 1; v < s.s; ++v)
        for (int64_t q = 0; q < reached; ++q) to[q] += inner[q - v];
    }
    float* HWY_RESTRICT out = d_x + p * s.w;
    if (begin >= end) {
      std::fill_n(out, s.w, 0.0F);
      continue;
    }
    const float* first = sums(begin) + s.pad_x;
    if (end - begin == 3) {  // the usual window: all of it in registers
      const float *second = sums(begin + 1) + s.pad_x, *third = sums(begin + 2) + s.pad_x;
      for (int64_t q = 0; q < s.w; ++q) out[q] = first[q] + second[q] + third[q];
      continue;
    }
    std::copy_n(first, s.w, out);
    for (int64_t i = begin + 1; i < end; ++i) {
      const float* more = sums(i) + s.pad_x;
      for (int64_t q = 0; q < s.w; ++q) out[q] += more[q];
    }
  }
}

/// One channel, NCHW.
void picture(const PoolShape& s, const float* x, const float* d_y, float* d_x) {
  if (!s.is_max() && s.oh() * s.ow() == 1) return one_window(s, *d_y, d_x);
  if (!s.is_max() && s.stride_x == 1) return written_once(s, d_y, d_x);
  static thread_local Scratch xs, gradients, upstream;
  const Sorted sorted(s);
  Scales scales(s);
  const int64_t ow = s.ow(), floats = sorted.floats();
  float* sorted_x = xs.floats(s.r * floats);
  float* sorted_d_x = gradients.floats(s.r * floats);
  float* row = upstream.floats(ow + kBeyond);
  std::fill_n(row, ow + kBeyond, 0.0F);
  std::fill_n(d_x, s.h * s.w, 0.0F);
  std::fill_n(sorted_x, s.r * floats,
              -std::numeric_limits<float>::infinity());  // stays around the columns
  for (int64_t i = 0; i < s.oh(); ++i, d_y += ow) {
    const PoolShape::Range down = s.rows(i);
    const int64_t rows = down.end - down.begin;
    std::copy_n(d_y, ow, row);
    if (s.is_max()) {
      std::fill_n(sorted_d_x, rows * floats, 0.0F);
      for (int64_t u = 0; u < rows; ++u) sorted.sort(x + (down.begin + u) * s.w, sorted_x + u * floats);
      claim(s, sorted, rows, sorted_x, row, sorted_d_x);
      for (int64_t u = 0; u < rows; ++u)
        sorted.add_back(sorted_d_x + u * floats, d_x + (down.begin + u) * s.w);
      continue;
    }
    // An average: columns first, then the same for all rows of the window.
    const float* scale = scales.of(down);
    for (int64_t j = 0; j < ow; ++j) row[j] *= scale[j];
    std::fill_n(sorted_d_x, floats, 0.0F);
    for (int64_t v = 0; v < s.s; ++v) {
      float* to = sorted_d_x + sorted.at(v);
      for (int64_t j = 0; j < ow; ++j) to[j] += row[j];
    }
    for (int64_t u = 0; u < rows; ++u) sorted.add_back(sorted_d_x, d_x + (down.begin + u) * s.w);
  }
}

#include "kernels/pool_bwd/cpu/04_written_once-inl.h"

KLAB_SIMD_END(pool);

#if HWY_ONCE
namespace klab {
namespace {

void run(const PoolBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(pool)(x); }

KLAB_VARIANT(PoolBwd,
             {.run = run,
              .parent = "03_threads",
              .tiles = {8, 16, 32},
              .expect = {.shape = {1, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 0}, .over_parent = 1.3},
              .when = {{1, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 0}, "an average: no row of d_x is read"}});

}  // namespace
}  // namespace klab
#endif
