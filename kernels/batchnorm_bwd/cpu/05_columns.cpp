// batchnorm_bwd.cpu.05_columns: channels without positions go side by side.
//
// CHANGE    channels of fewer than 16 positions are columns of a matrix, and all columns go at once, along the rows.
// EXPECT    behind a linear layer the parent reads a line for each number, sixteen times the bytes; here every line is read
//           for all of its 16 numbers. Five times at least, without positions.
// NUMERICS  one sum down a column, four rows at a time.
// NEEDS     nothing. Channels of more positions go the parent's way.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/columns-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/batchnorm_bwd/cpu/04_streaming-inl.h"

/// Channels [j, end) of few positions: each position is a column of a matrix of n rows.
void by_columns(const BatchnormBwd::Args<float>& x, int64_t j, int64_t end, bool stream) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw, width = (end - j) * hw,
                room = padded(width);
  static thread_local Scratch memory;
  float *mean = memory.floats(5 * room), *rstd = mean + room, *scale = rstd + room;
  float *shift = scale + room, *slope = shift + room;
  for (int64_t k = 0; k < room; ++k) {
    mean[k] = k < width ? x.mean[j + k / hw] : 0;
    rstd[k] = k < width ? x.rstd[j + k / hw] : 0;
  }
  const float *in = x.x + j * hw, *d_y = x.d_y + j * hw;
  column_sums(d, d_y, n, step, width, shift);
  std::fill_n(slope, room, 0.0F);
  add_rows(d, n, width, slope, [=](int64_t i, int64_t k, size_t count) HWY_ATTR {
    const V deviation = hn::Sub(load_first(d, in + i * step + k, count), hn::LoadU(d, mean + k));
    return hn::Mul(load_first(d, d_y + i * step + k, count), hn::Mul(deviation, hn::LoadU(d, rstd + k)));
  });
  for (int64_t k = 0; k < width; k += hw) {
    float sum = 0, product = 0;
    for (int64_t e = k; e < k + hw; ++e) sum += shift[e], product += slope[e];
    const Line line = finish(x, j + k / hw, sum, product);
    std::fill_n(scale + k, hw, line.scale);
    std::fill_n(shift + k, hw, line.shift);
    std::fill_n(slope + k, hw, line.slope);
  }
  for (int64_t i = 0; i < n; ++i)
    write_run(d, x.d_x + j * hw + i * step, width, stream, [=](const auto& load) HWY_ATTR {
      const V deviation = hn::Sub(load(in + i * step), load(mean));
      return hn::NegMulAdd(deviation, load(slope),
                           hn::MulSub(load(d_y + i * step), load(scale), load(shift)));
    });
}

constexpr int64_t kFew = 16;  // positions: less than a vector

/// Channels [j, end).
void gradients(const BatchnormBwd::Args<float>& x, int64_t j, int64_t end, bool stream) {
  if (x.shape.hw < kFew && j < end)
    by_columns(x, j, end, stream);
  else
    for (; j < end; ++j) by_runs(x, j, stream);
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const BatchnormBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const bool stream = worth_streaming(all * BatchnormFwd::count(x.shape),
                                      x.shape.hw < HWY_STATIC_DISPATCH(kFew) ? x.shape.c : x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  parallel_ranges(all, all * BatchnormFwd::count(x.shape) >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(BatchnormBwd, {.run = run,
                            .parent = "04_streaming",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024, 1}, .over_parent = 3},
                            .when = {{8192, 1024, 1}, "channels without positions"}});
KLAB_SIMD_CLOSE();
#endif
