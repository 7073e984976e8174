// batchnorm_fwd.cpu.05_columns: channels without positions go side by side.
//
// CHANGE    channels of fewer than 16 positions are columns of a matrix, and all columns go at once, along the rows, in
//           blocks of rows whose means and squares are merged (Chan, Golub and LeVeque 1983).
// EXPECT    behind a linear layer the parent reads a line for each number, sixteen times the bytes; here every line is read
//           for all of its 16 numbers. Five times at least, without positions.
// NUMERICS  two passes over a block of rows; the merge adds positive numbers only.
// NEEDS     nothing. Channels of more positions go the parent's way.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/columns-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/batchnorm_fwd/cpu/04_streaming-inl.h"

/// Channels [j, end) of few positions: each position is a column of a matrix of n rows, and joins its channel's others.
void by_columns(const BatchnormFwd::Args<float>& x, int64_t j, int64_t end, bool stream) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw, width = (end - j) * hw,
                room = padded(width);
  static thread_local Scratch memory;
  float *mean = memory.floats(4 * room), *squares = mean + room, *scale = squares + room,
        *shift = scale + room;
  column_moments(d, x.x + j * hw, n, step, width, mean, squares, scale);
  for (int64_t k = 0; k < width; k += hw) {
    float sum = 0, about = 0;
    for (int64_t e = k; e < k + hw; ++e) sum += mean[e];
    const float whole = sum / float(hw);
    for (int64_t e = k; e < k + hw; ++e)
      about += squares[e] + float(n) * ((mean[e] - whole) * (mean[e] - whole));
    const int64_t channel = j + k / hw;
    std::fill_n(scale + k, hw, x.gamma[channel] * finish(x, channel, whole, about));
    std::fill_n(shift + k, hw, x.beta[channel]);
    std::fill_n(mean + k, hw, whole);
  }
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.x + j * hw + i * step;
    write_run(d, x.y + j * hw + i * step, width, stream,
              [row, mean, scale, shift](const auto& load)
                  HWY_ATTR { return hn::MulAdd(hn::Sub(load(row), load(mean)), load(scale), load(shift)); });
  }
}

constexpr int64_t kFew = 16;  // positions: less than a vector

/// Channels [j, end).
void normalize(const BatchnormFwd::Args<float>& x, int64_t j, int64_t end, bool stream) {
  if (x.shape.hw < kFew && j < end)
    by_columns(x, j, end, stream);
  else
    for (; j < end; ++j) by_runs(x, j, stream);
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const BatchnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const bool stream = worth_streaming(all * BatchnormFwd::count(x.shape),
                                      x.shape.hw < HWY_STATIC_DISPATCH(kFew) ? x.shape.c : x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * BatchnormFwd::count(x.shape) >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "04_streaming",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024, 1}, .over_parent = 5},
                            .when = {{8192, 1024, 1}, "channels without positions"}});
KLAB_SIMD_CLOSE();
#endif
