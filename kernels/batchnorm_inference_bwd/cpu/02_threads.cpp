// batchnorm_inference_bwd.cpu.02_threads: vectors along the positions, channels shared out.
//
// CHANGE    a channel's runs are summed in vectors and written while they are near; each thread takes a run
//           of channels. Channels of fewer than 16 positions are columns of a matrix, and go along its rows.
// EXPECT    no chain of additions any more. One core's chains use a fifth of the bandwidth of all: twice at
//           least beyond the caches, more within them.
// NUMERICS  four vectors of partial sums, then tree order.
// NEEDS     nothing. Little work stays on one thread.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

#include "kernels/common/columns-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;
using Args = BatchnormInferenceBwd::Args<float>;

float rstd_of(const Args& x, int64_t j) { return 1 / std::sqrt(x.running_var[j] + *x.epsilon); }

/// A channel in runs of hw numbers, of which it has one in each example. A run is summed, then written while it is near.
void by_runs(const Args& x, int64_t j) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw;
  const float rstd = rstd_of(x, j);
  const V m = hn::Set(d, x.running_mean[j]), r = hn::Set(d, rstd), scale = hn::Set(d, x.gamma[j] * rstd);
  float sum = 0, product = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float *in = x.x + j * hw + i * step, *d_y = x.d_y + j * hw + i * step;
    const TwoSums sums = two_sums_run(d, hw, [=](const auto& load, V& plain, V& scaled) HWY_ATTR {
      const V g = load(d_y);
      plain = hn::Add(plain, g);
      scaled = hn::MulAdd(g, hn::Mul(hn::Sub(load(in), m), r), scaled);
    });
    sum += sums.first;
    product += sums.second;
    write_run(d, x.d_x + j * hw + i * step, hw, false,
              [=](const auto& load) HWY_ATTR { return hn::Mul(load(d_y), scale); });
  }
  x.d_beta[j] = sum;
  x.d_gamma[j] = product;
}

/// Channels [j, end) of few positions: each position is a column of a matrix of n rows.
void by_columns(const Args& x, int64_t j, int64_t end) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw, width = (end - j) * hw,
                room = padded(width);
  static thread_local Scratch memory;
  float *mean = memory.floats(5 * room), *rstd = mean + room, *scale = rstd + room;
  float *sums = scale + room, *products = sums + room;
  std::fill_n(mean, 3 * room, 0.0F);
  for (int64_t k = 0; k < width; ++k) {
    mean[k] = x.running_mean[j + k / hw];
    rstd[k] = rstd_of(x, j + k / hw);
    scale[k] = x.gamma[j + k / hw] * rstd[k];
  }
  const float *in = x.x + j * hw, *d_y = x.d_y + j * hw;
  column_sums(d, d_y, n, step, width, sums);
  std::fill_n(products, room, 0.0F);
  add_rows(d, n, width, products, [=](int64_t i, int64_t k, size_t count) HWY_ATTR {
    const V deviation = hn::Sub(load_first(d, in + i * step + k, count), hn::LoadU(d, mean + k));
    return hn::Mul(load_first(d, d_y + i * step + k, count), hn::Mul(deviation, hn::LoadU(d, rstd + k)));
  });
  for (int64_t k = 0; k < width; k += hw) {
    float sum = 0, product = 0;
    for (int64_t e = k; e < k + hw; ++e) sum += sums[e], product += products[e];
    x.d_beta[j + k / hw] = sum;
    x.d_gamma[j + k / hw] = product;
  }
  for (int64_t i = 0; i < n; ++i)
    write_run(d, x.d_x + j * hw + i * step, width, false,
              [=](const auto& load) HWY_ATTR { return hn::Mul(load(d_y + i * step), load(scale)); });
}

constexpr int64_t kFew = 16;  // positions: less than a vector

/// Channels [j, end).
void gradients(const Args& x, int64_t j, int64_t end) {
  if (x.shape.hw < kFew && j < end)
    by_columns(x, j, end);
  else
    for (; j < end; ++j) by_runs(x, j);
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const BatchnormInferenceBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const auto [n, c, hw] = x.shape;
  if (n * hw == 0) {  // sums of nothing
    std::fill_n(x.d_beta, c, 0.0F);
    std::fill_n(x.d_gamma, c, 0.0F);
    return;
  }
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  parallel_ranges(x.shape.c, n * c * hw >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(BatchnormInferenceBwd, {.run = run,
                                     .parent = "01_naive",
                                     .tiles = {16, 64},
                                     .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
