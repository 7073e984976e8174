// batchnorm_bwd.cuda.03_columns: lanes are channels.
//
// CHANGE    without positions (hw = 1) a block has 128 channels of some rows: a warp has one row of them, 16 bytes a lane, with
//           eight loads in flight; as many blocks as the device needs to be full. Partial sums, a launch that joins them by 32 warps
//           for 32 channels, then d_x, the last rows first: they are what L2 still holds. Channels with positions go the
//           parent's way.
// EXPECT    of 8192 rows of 1,024 the parent's warps read 32 sectors/request of which they use an eighth: at least 7 times.
// NUMERICS  a thread adds up every 8th row of its block, then tree order.
// NEEDS     for loads of 16 bytes channels of a multiple of four and arrays that begin at multiples of 16 bytes.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kRows = 4;
using Args = BatchnormBwd::Args<float>;

#include "kernels/common/rows/02_block_per_channel-inl.h"

/// Position of the k-th number of channel j.
__device__ __forceinline__ int64_t at(unsigned k, int64_t j, int64_t c, unsigned hw) {
  return (k / hw * c + j) * hw + k % hw;
}

__global__ void __launch_bounds__(kThreads, 4) gradients(BatchnormBwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t j = blockIdx.x, c = a.shape.c;
  const auto hw = unsigned(a.shape.hw), N = unsigned(a.shape.n) * hw;
  const float mean = a.mean[j], rstd = a.rstd[j];
  float sum = 0, product = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const int64_t p = at(k, j, c, hw);
    const float d_y = a.d_y[p];
    sum += d_y;
    product += d_y * ((a.x[p] - mean) * rstd);
  }
  sum_both(sum, product, part);
  const float scale = a.gamma[j] * rstd;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const int64_t p = at(k, j, c, hw);
    a.d_x[p] = scale * (a.d_y[p] - sum / float(N) - (a.x[p] - mean) * rstd * (product / float(N)));
  }
  if (threadIdx.x == 0) a.d_beta[j] = sum, a.d_gamma[j] = product;
}

template <int kEach>
__global__ void __launch_bounds__(kThreads, 4)
    column_sums(int64_t n, int64_t each, int64_t c, const float* __restrict__ x,
                const float* __restrict__ mean_of, const float* __restrict__ rstd_of,
                const float* __restrict__ d_y, float* __restrict__ d_gamma, float* __restrict__ d_beta) {
  __shared__ rows::Pack<kEach> part[2][rows::kTileWarps][32];
  const rows::Tile<kEach> tile(n, each, c);
  rows::Pack<kEach> mean = {}, rstd = {}, product = {}, sum = {};
  if (tile.j < c) mean = rows::load<kEach>(mean_of + tile.j), rstd = rows::load<kEach>(rstd_of + tile.j);
  for (int64_t i = tile.begin + tile.warp; i < tile.end; i += kWarps * kRows) {
    rows::Pack<kEach> h[kRows] = {}, d[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (const int64_t at = (i + r * kWarps) * c + tile.j; i + r * kWarps < tile.end)
        h[r] = rows::load<kEach>(x + at), d[r] = rows::load<kEach>(d_y + at);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      for (int e = 0; e < kEach; ++e) {
        sum.v[e] += d[r].v[e];
        product.v[e] += d[r].v[e] * ((h[r].v[e] - mean.v[e]) * rstd.v[e]);
      }
  }
  rows::store_sums(tile, product, part[0], c, d_gamma + blockIdx.y * c);
  rows::store_sums(tile, sum, part[1], c, d_beta + blockIdx.y * c);
}

template <int kEach>
__global__ void __launch_bounds__(kThreads, 4)
    write_columns(int64_t n, int64_t each, int64_t c, const float* __restrict__ x,
                  const float* __restrict__ gamma, const float* __restrict__ mean_of,
                  const float* __restrict__ rstd_of, const float* __restrict__ d_y,
                  const float* __restrict__ d_gamma, const float* __restrict__ d_beta,
                  float* __restrict__ d_x) {
  const rows::Tile<kEach> tile(n, each, c);
  if (tile.j >= c) return;
  const rows::Pack<kEach> mean = rows::load<kEach>(mean_of + tile.j),
                          rstd = rows::load<kEach>(rstd_of + tile.j);
  rows::Pack<kEach> scale = rows::load<kEach>(gamma + tile.j), product = rows::load<kEach>(d_gamma + tile.j),
                    sum = rows::load<kEach>(d_beta + tile.j);
  for (int e = 0; e < kEach; ++e) {
    scale.v[e] *= rstd.v[e];
    product.v[e] /= float(n);
    sum.v[e] /= float(n);
  }
  for (int64_t i = tile.end - 1 - tile.warp; i >= tile.begin; i -= kWarps * kRows) {
    rows::Pack<kEach> h[kRows] = {}, d[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (const int64_t at = (i - r * kWarps) * c + tile.j; i - r * kWarps >= tile.begin)
        h[r] = rows::load<kEach>(x + at), d[r] = rows::load<kEach>(d_y + at);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      for (int e = 0; e < kEach; ++e)
        d[r].v[e] = scale.v[e] * (d[r].v[e] - sum.v[e] - (h[r].v[e] - mean.v[e]) * rstd.v[e] * product.v[e]);
      if (i - r * kWarps >= tile.begin) rows::store<kEach>(d_x + (i - r * kWarps) * c + tile.j, d[r]);
    }
  }
}

template <int kEach>
void run_columns(const Args& x) {
  const int64_t n = x.shape.n, c = x.shape.c;
  const unsigned across = rows::blocks_of(c, 32 * kEach);
  const rows::Chunks chunks = rows::chunks_of(n, across, kWarps * kRows, cuda::device().multiprocessors);
  const cuda::Scratch partial(chunks.count > 1 ? sizeof(float) * size_t(2 * chunks.count * c) : 0);
  float* const d_gamma = chunks.count > 1 ? partial.as<float>() : x.d_gamma;
  float* const d_beta = chunks.count > 1 ? d_gamma + chunks.count * c : x.d_beta;
  const dim3 grid(across, unsigned(chunks.count));
  cuda::launch(column_sums<kEach>, grid, kThreads, 0, n, chunks.each, c, x.x, x.mean, x.rstd, x.d_y, d_gamma,
               d_beta);
  if (chunks.count > 1) rows::launch_join(chunks.count, c, d_gamma, x.d_gamma, x.d_beta);
  cuda::launch(write_columns<kEach>, grid, kThreads, 0, n, chunks.each, c, x.x, x.gamma, x.mean, x.rstd,
               x.d_y, x.d_gamma, x.d_beta, x.d_x);
}

void run(const Args& x) {
  const int64_t c = x.shape.c;
  if (c == 0) return;
  if (x.shape.hw > 1) {
    cuda::launch(gradients, unsigned(c), kThreads, 0, x);
    return;
  }
  const bool fours =
      c % 4 == 0 && rows::aligned(x.x, x.gamma, x.mean, x.rstd, x.d_y, x.d_x, x.d_gamma, x.d_beta);
  fours ? run_columns<4>(x) : run_columns<1>(x);
}

KLAB_VARIANT(BatchnormBwd, {.run = run,
                            .parent = "02_block_per_channel",
                            .forward = "03_columns",
                            .tiles = {32, 128, kThreads},
                            .expect = {.shape = {8192, 1024, 1}, .over_parent = 7},
                            .when = {{8192, 1024, 1}, "channels without positions"}});

}  // namespace
}  // namespace klab
