// pool_fwd.cpu.02_separable: rows of the window first, then its columns.
//
// CHANGE    max and sum are the same in any order: the r rows of a window row are reduced to one, for all columns at once, and
//           that row is reduced to outputs. With NHWC a pixel is a vector of channels; with NCHW it is one number, and each
//           channel a picture for itself: one code.
// EXPECT    r - 1 + s - 1 operations for an output where the parent has r·s - 1, and without stride fewer, since windows
//           share rows; loops along rows, of which the compiler makes vectors. At least 3 times.
// NUMERICS  a maximum is exact; an average sums columns of sums, times a rounded reciprocal: r·s + 1 roundings at most.
// NEEDS     a row of scratch.
#include <algorithm>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab {
namespace {

void reduce(bool is_max, int64_t count, const float* x, int64_t step, float* y) {
  if (is_max && step == 1)
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
  else if (is_max)
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * step] > y[i] ? x[i * step] : y[i];
  else if (step == 1)
    for (int64_t i = 0; i < count; ++i) y[i] += x[i];
  else
    for (int64_t i = 0; i < count; ++i) y[i] += x[i * step];
}

/// Outputs of one row of a picture of pixels of `size` numbers.
void output_row(const PoolShape& s, int64_t size, const float* x, int64_t i, float* row, float* y) {
  const PoolShape::Range down = s.rows(i);
  const int64_t width = s.w * size, ow = s.ow();
  std::copy_n(x + down.begin * width, width, row);
  for (int64_t p = down.begin + 1; p < down.end; ++p) reduce(s.is_max(), width, x + p * width, 1, row);
  if (size > 1) {
    for (int64_t j = 0; j < ow; ++j, y += size) {
      const PoolShape::Range across = s.columns(j);
      std::copy_n(row + across.begin * size, size, y);
      for (int64_t q = across.begin + 1; q < across.end; ++q) reduce(s.is_max(), size, row + q * size, 1, y);
      const float by = s.is_max() ? 1 : 1 / float(s.divisor(down, across));
      for (int64_t k = 0; k < size; ++k) y[k] *= by;
    }
    return;
  }
  std::fill_n(y, ow, s.is_max() ? -std::numeric_limits<float>::infinity() : 0.0F);
  for (int64_t v = 0; v < s.s; ++v) {  // outputs j with 0 <= j·stride + v - pad < w
    const int64_t from = v - s.pad_x,
                  begin = std::min(ow, from >= 0 ? 0 : (-from + s.stride_x - 1) / s.stride_x);
    const int64_t end = from >= s.w ? begin : std::clamp((s.w - 1 - from) / s.stride_x + 1, begin, ow);
    if (begin < end) reduce(s.is_max(), end - begin, row + begin * s.stride_x + from, s.stride_x, y + begin);
  }
  if (s.is_max()) return;
  for (int64_t j = 0; j < ow; ++j) y[j] *= 1 / float(s.divisor(down, s.columns(j)));
}

void run(const PoolFwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const PoolShape& s = x.shape;
  const int64_t pictures = s.nhwc != 0 ? s.n : s.n * s.c, size = s.nhwc != 0 ? s.c : 1;
  if (s.n * s.c == 0) return;
  float* row = scratch.floats(s.w * size);
  for (int64_t p = 0; p < pictures; ++p)
    for (int64_t i = 0; i < s.oh(); ++i)
      output_row(s, size, x.x + p * s.h * s.w * size, i, row, x.y + (p * s.oh() + i) * s.ow() * size);
}

KLAB_VARIANT(PoolFwd, {.run = run,
                       .parent = "01_naive",
                       .expect = {.shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .over_parent = 3}});

}  // namespace
}  // namespace klab
