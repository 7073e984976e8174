// pool_bwd.cpu.05_winners: each window keeps which of its taps won, and each pixel asks its windows.
//
// CHANGE    maxima of channels by rows (NCHW), moved by one or two columns: a row of windows is reduced once
//           to its gradients and the numbers of the taps that won. A row of d_x is then written once: a pixel
//           takes the gradients of those windows whose winner it is. With a stride of two, even and odd
//           columns are made separately and stored alternately.
// EXPECT    the parent adds to scratch for each tap of each window, a load, a comparison, a load and a store,
//           and adds that to d_x. Here a tap is a comparison when the winner is found, and one when it is
//           asked for: 1.3 times at least.
// NUMERICS  a pixel's windows are summed in their order, rows first; as the parent's up to where the first
//           zero is added.
// NEEDS     as the parent. Fewer than 2^24 taps, which float counts exactly. Averages, other strides and NHWC
//           go the parent's way.
// TRIED     see NOTES.md, cpu.05_winners
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

#include "kernels/pool_bwd/cpu/02_simd_taps-inl.h"

/// Columns of a row in one order (stride 1), or even and odd ones apart (stride 2); windows are `around`
/// floats from the begin of their rows, so that a window before the first exists too, without a winner.
struct Winners {
  int64_t around, floats;
  explicit Winners(const PoolShape& s)
      : around((s.s - 1) / s.stride_x), floats(around + padded_columns(s) + kBeyond) {}
  static int64_t padded_columns(const PoolShape& s) {  // of a phase
    return std::max((s.w + s.pad_x + s.stride_x - 1) / s.stride_x, s.ow() + (s.s - 1) / s.stride_x);
  }
};

/// A row of windows: the number of the first tap that holds the largest, u·s + v, counted from the window's first row.
void find_winners(const PoolShape& s, const Sorted& sorted, int64_t first, int64_t rows,
                  const float* HWY_RESTRICT x, float* HWY_RESTRICT winner) {
  const Tag d;
  for (int64_t j = 0; j < s.ow(); j += lanes()) {
    auto largest = hn::Set(d, -std::numeric_limits<float>::infinity()), which = hn::Set(d, -1.0F);
    for (int64_t u = 0; u < rows; ++u)
      for (int64_t v = 0; v < s.s; ++v) {
        const auto value = hn::LoadU(d, x + u * sorted.floats() + sorted.at(v) + j);
        const auto more = hn::Gt(value, largest);
        which = hn::IfThenElse(more, hn::Set(d, float((first + u) * s.s + v)), which);
        largest = hn::Max(value, largest);
      }
    hn::StoreU(which, d, winner + j);
  }
}

/// Maxima of windows that move by one or two columns.
void by_winners(const PoolShape& s, const float* x, const float* d_y, float* d_x) {
  static thread_local Scratch memory;
  const Tag d;
  const Sorted sorted(s);
  const Winners room(s);
  const int64_t oh = s.oh(), ow = s.ow(), kept = (s.r + s.stride_y - 1) / s.stride_y,
                columns = Winners::padded_columns(s);
  const int64_t each = room.floats, all = s.r * sorted.floats() + 2 * kept * each + 2 * columns + 2 * kBeyond;
  float* sorted_x = memory.floats(all);
  float *winners = sorted_x + s.r * sorted.floats(), *gradients = winners + kept * each,
        *row = gradients + kept * each;
  std::fill_n(sorted_x, s.r * sorted.floats(),
              -std::numeric_limits<float>::infinity());  // stays around the columns
  std::fill_n(winners, kept * each, -1.0F);
  std::fill_n(gradients, kept * each, 0.0F);
  const auto step = hn::Set(d, float(s.stride_x));
  int64_t next = 0;  // row of windows without its winners
  for (int64_t p = 0; p < s.h; ++p) {
    const int64_t above = p + s.pad_y - s.r + 1;  // the first window that reaches p begins there or behind
    const int64_t begin = above <= 0 ? 0 : (above + s.stride_y - 1) / s.stride_y;
    const int64_t end = std::min(oh, (p + s.pad_y) / s.stride_y + 1);
    for (; next < end; ++next) {
      const PoolShape::Range down = s.rows(next);
      for (int64_t u = down.begin; u < down.end; ++u)
        sorted.sort(x + u * s.w, sorted_x + (u - down.begin) * sorted.floats());
      float* winner = winners + next % kept * each + room.around;
      find_winners(s, sorted, down.begin - next * s.stride_y + s.pad_y, down.end - down.begin, sorted_x,
                   winner);
      // overwrites a whole vector's lanes behind the last
      std::fill_n(winner + ow, each - room.around - ow, -1.0F);
      std::copy_n(d_y + next * ow, ow, gradients + next % kept * each + room.around);
    }
    const int64_t slot = begin % kept, before = room.around;
    const auto sum = [&](int64_t phase, int64_t m) HWY_ATTR {
      auto total = hn::Zero(d);
      int64_t at = slot, u = p + s.pad_y - begin * s.stride_y;
      for (int64_t i = begin; i < end; ++i, u -= s.stride_y) {
        const float *winner = winners + at * each + before + m,
                    *gradient = gradients + at * each + before + m;
        if (++at == kept) at = 0;
        auto tap = hn::Set(d, float(u * s.s + phase));
        for (int64_t v = phase; v < s.s; v += s.stride_x, --winner, --gradient) {
          total =
              hn::Add(total, hn::IfThenElseZero(hn::Eq(hn::LoadU(d, winner), tap), hn::LoadU(d, gradient)));
          tap = hn::Add(tap, step);
        }
      }
      return total;
    };
    for (int64_t m = 0; m < columns; m += lanes())
      if (s.stride_x == 1)
        hn::StoreU(sum(0, m), d, row + m);
      else
        hn::StoreInterleaved2(sum(0, m), sum(1, m), d, row + 2 * m);
    std::copy_n(row + s.pad_x, s.w, d_x + p * s.w);
  }
}

/// One channel, NCHW.
void picture(const PoolShape& s, const float* x, const float* d_y, float* d_x) {
  if (s.is_max() && s.stride_x <= 2 && s.r * s.s < (1 << 24)) return by_winners(s, x, d_y, d_x);
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

#include "kernels/pool_bwd/cpu/02_simd_window-inl.h"

#include "kernels/pool_bwd/cpu/03_threads-inl.h"

KLAB_SIMD_ONCE(pool);

#if HWY_ONCE
void run(const PoolBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(pool)(x); }

KLAB_VARIANT(PoolBwd,
             {.run = run,
              .parent = "03_threads",
              .tiles = {8, 16, 32},
              .expect = {.shape = {1, 64, 112, 112, 3, 3, 2, 2, 1, 1, 0, 0}, .over_parent = 1.3},
              .when = {{1, 64, 112, 112, 3, 3, 2, 2, 1, 1, 0, 0}, "a maximum whose windows overlap"}});
KLAB_SIMD_CLOSE();
#endif
