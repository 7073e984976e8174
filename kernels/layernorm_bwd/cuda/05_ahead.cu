// layernorm_bwd.cuda.05_ahead: the next row is on its way.
//
// CHANGE    for rows of 513 to 1,024 features: a warp's next row of x and d_y comes by asynchronous copies into shared memory while
//           it computes with this one. Two rows for each of 8 warps, 128 KB. A lane reads only what it copied: no barrier. All other
//           rows go the parent's way.
// EXPECT    the parent's warps all read, then all compute, then all write. Here 64 KB stay in flight for each multiprocessor: at
//           least 1.1 times at a thousand features.
// NUMERICS  as the parent.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go the parent's way.
// SASS      LDGSTS.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

namespace klab {
namespace {

constexpr int kAheadWarps = 8, kWidth = int(rows::kWarpColumns);
constexpr int kThreads = 256, kRows = 4;  // rows that a thread has in flight
using Args = LayernormBwd::Args<float>;

#include "kernels/layernorm_bwd/cuda/04_by_shape-inl.h"

/// Warp w of all has rows w, w + warps ... of 513 to 1,024 features. partial: [2][blocks][c].
__global__ void __launch_bounds__(32 * kAheadWarps, 1)
    ahead(int64_t n, int c, const float* __restrict__ x, const float* __restrict__ gamma,
          const float* __restrict__ mean_of, const float* __restrict__ rstd_of, const float* __restrict__ d_y,
          float* __restrict__ d_x, float* __restrict__ partial) {
  KLAB_DYNAMIC_SHARED(float,
                      shared);  // [warps][two rows][x, d_y][kWidth], then [warps][2][kWidth]
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32;
  float* const own = shared + warp * 4 * kWidth;
  const auto fetch = [=](int64_t i, int stage) {
    for (int j = 4 * lane; j < c && i < n; j += 128) {
      cuda::copy_async<16>(own + 2 * stage * kWidth + j, x + i * c + j);
      cuda::copy_async<16>(own + (2 * stage + 1) * kWidth + j, d_y + i * c + j);
    }
    cuda::copy_async_commit();
  };
  const int64_t first = int64_t(blockIdx.x) * warps + warp, step = int64_t(gridDim.x) * warps;
  rows::Pack<4> d_gamma[8] = {}, d_beta[8] = {};
  fetch(first, 0);
  float mean = first < n ? mean_of[first] : 0, rstd = first < n ? rstd_of[first] : 0;
  int stage = 0;
  for (int64_t i = first; i < n; i += step) {
    fetch(i + step, 1 - stage);
    const float next_mean = i + step < n ? mean_of[i + step] : 0,
                next_rstd = i + step < n ? rstd_of[i + step] : 0;
    cuda::copy_async_wait<1>();
    const float *row = own + 2 * stage * kWidth, *d_row = row + kWidth;
    rows::Sums sum = rows::Sums::none();
#pragma unroll
    for (int p = 0; p < 8; ++p) {
      const int j = (32 * p + lane) * 4;
      if (j >= c) continue;
      const rows::Pack<4> h = rows::load<4>(row + j), d = rows::load<4>(d_row + j),
                          scale = rows::load<4>(gamma + j);
      for (int k = 0; k < 4; ++k) {
        const float xhat = (h.v[k] - mean) * rstd, g = d.v[k] * scale.v[k];
        d_gamma[p].v[k] += d.v[k] * xhat;
        d_beta[p].v[k] += d.v[k];
        sum = sum.with({g, g * xhat});
      }
    }
    sum = rows::join_lanes(sum);
    const float of_g = sum.a / float(c), of_both = sum.b / float(c);
#pragma unroll
    for (int p = 0; p < 8; ++p) {
      const int j = (32 * p + lane) * 4;
      if (j >= c) continue;
      const rows::Pack<4> h = rows::load<4>(row + j), scale = rows::load<4>(gamma + j);
      rows::Pack<4> d = rows::load<4>(d_row + j);
      for (int k = 0; k < 4; ++k)
        d.v[k] = rstd * (d.v[k] * scale.v[k] - of_g - (h.v[k] - mean) * rstd * of_both);
      rows::store<4>(d_x + i * c + j, d);
    }
    mean = next_mean, rstd = next_rstd, stage = 1 - stage;
  }
  cuda::copy_async_wait<0>();
  __syncthreads();  // the rows are done with
#pragma unroll
  for (int p = 0; p < 8; ++p)
    if (const int j = (32 * p + lane) * 4; j < c) {
      *reinterpret_cast<rows::Pack<4>*>(shared + 2 * warp * kWidth + j) = d_gamma[p];
      *reinterpret_cast<rows::Pack<4>*>(shared + (2 * warp + 1) * kWidth + j) = d_beta[p];
    }
  __syncthreads();
  for (int k = int(threadIdx.x); k < 2 * c; k += 32 * warps) {
    const int which = k < c ? 0 : 1, j = k - which * c;
    float total = 0;
    for (int w = 0; w < warps; ++w) total += shared[(2 * w + which) * kWidth + j];
    partial[(int64_t(which) * gridDim.x + blockIdx.x) * c + j] = total;
  }
}

void run_ahead(const Args& x, int multiprocessors) {
  const int64_t n = x.shape.n, c = x.shape.c;
  const int warps = int(std::clamp<int64_t>(rows::blocks_of(n, multiprocessors), 1, kAheadWarps));
  const auto grid = unsigned(std::min<int64_t>(multiprocessors, rows::blocks_of(n, warps)));
  const cuda::Scratch partial(sizeof(float) * 2 * grid * size_t(c));
  const size_t shared = sizeof(float) * warps * 4 * kWidth;
  cuda::allow_shared(ahead, shared);
  cuda::launch(ahead, grid, 32 * warps, shared, n, int(c), x.x, x.gamma, x.mean, x.rstd, x.d_y, x.d_x,
               partial.as<float>());
  rows::launch_join(grid, c, partial.as<float>(), x.d_gamma, x.d_beta);
}

void run(const Args& x) {
  const bool fours = x.shape.c % 4 == 0 && rows::aligned(x.x, x.gamma, x.d_y, x.d_x, x.d_gamma, x.d_beta);
  if (fours && x.shape.n > 0 && x.shape.c > kWidth / 2 && x.shape.c <= kWidth)
    return run_ahead(x, cuda::device().multiprocessors);
  fours ? run_by<4>(x) : run_by<1>(x);
}

KLAB_VARIANT(LayernormBwd, {.run = run,
                            .parent = "04_by_shape",
                            .forward = "05_by_shape",
                            .tiles = {8, 16, 512, 1024},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.1},
                            .when = {{8192, 1024}, "a thousand features: two rows fit next to each other"}});

}  // namespace
}  // namespace klab
