// batchnorm_inference_bwd.cuda.03_columns: lanes are channels.
//
// CHANGE    without positions (hw = 1) a block has 128 channels of some rows: a warp has one row of them, 16 bytes a lane, with
//           eight loads in flight; as many blocks as the device needs to be full. Each leaves its partial sums, and a second launch
//           joins these, 32 warps for 32 channels. Channels with positions go the parent's way.
// EXPECT    of 8192 rows of 1,024 the parent's warps read 32 sectors/request of which they use an eighth: at least 7 times.
// NUMERICS  a thread adds up every 8th row of its block, then tree order.
// NEEDS     for loads of 16 bytes channels of a multiple of four and arrays that begin at multiples of 16 bytes.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kRows = 4;
using Args = BatchnormInferenceBwd::Args<float>;

__global__ void __launch_bounds__(kThreads, 4) gradients(BatchnormInferenceBwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t j = blockIdx.x, c = a.shape.c, hw = a.shape.hw, step = c * hw;
  const float mean = a.running_mean[j], rstd = 1 / sqrtf(a.running_var[j] + *a.epsilon),
              scale = a.gamma[j] * rstd;
  float sum = 0, product = 0;
  // Position k % hw of example k / hw, without a division for each: both go on by the block's width.
  int64_t i = threadIdx.x / hw, k = threadIdx.x % hw;
  const int64_t examples = kThreads / hw, positions = kThreads % hw;
  while (i < a.shape.n) {
    const int64_t p = i * step + j * hw + k;
    const float d_y = a.d_y[p];
    sum += d_y;
    product += d_y * ((a.x[p] - mean) * rstd);
    a.d_x[p] = scale * d_y;
    i += examples, k += positions;
    if (k >= hw) k -= hw, ++i;
  }
  for (int by = 16; by > 0; by /= 2) {
    sum += __shfl_xor_sync(~0U, sum, by);
    product += __shfl_xor_sync(~0U, product, by);
  }
  const int warp = int(threadIdx.x) / 32;
  if (threadIdx.x % 32 == 0) part[0][warp] = sum, part[1][warp] = product;
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = product = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[0][w], product += part[1][w];
  a.d_beta[j] = sum;
  a.d_gamma[j] = product;
}

/// partial: [2][gridDim.y][c].
template <int kEach>
__global__ void __launch_bounds__(kThreads, 4)
    columns(int64_t n, int64_t each, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
            const float* __restrict__ running_mean, const float* __restrict__ running_var,
            const float* __restrict__ epsilon, const float* __restrict__ d_y, float* __restrict__ d_x,
            float* __restrict__ d_gamma, float* __restrict__ d_beta) {
  __shared__ rows::Pack<kEach> part[2][rows::kTileWarps][32];
  const rows::Tile<kEach> tile(n, each, c);
  rows::Pack<kEach> mean = {}, rstd = {}, scale = {}, product = {}, sum = {};
  if (tile.j < c) {
    mean = rows::load<kEach>(running_mean + tile.j);
    rstd = rows::load<kEach>(running_var + tile.j);
    scale = rows::load<kEach>(gamma + tile.j);
  }
  for (int e = 0; e < kEach; ++e) {
    rstd.v[e] = 1 / sqrtf(rstd.v[e] + *epsilon);
    scale.v[e] *= rstd.v[e];
  }
  for (int64_t i = tile.begin + tile.warp; i < tile.end; i += kWarps * kRows) {
    rows::Pack<kEach> h[kRows] = {}, d[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (const int64_t at = (i + r * kWarps) * c + tile.j; i + r * kWarps < tile.end)
        h[r] = rows::load<kEach>(x + at), d[r] = rows::load<kEach>(d_y + at);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      for (int e = 0; e < kEach; ++e) {
        sum.v[e] += d[r].v[e];
        product.v[e] += d[r].v[e] * ((h[r].v[e] - mean.v[e]) * rstd.v[e]);
        d[r].v[e] *= scale.v[e];
      }
      if (i + r * kWarps < tile.end) rows::store<kEach>(d_x + (i + r * kWarps) * c + tile.j, d[r]);
    }
  }
  rows::store_sums(tile, product, part[0], c, d_gamma + blockIdx.y * c);
  rows::store_sums(tile, sum, part[1], c, d_beta + blockIdx.y * c);
}

void run(const Args& x) {
  const auto [n, c, hw] = x.shape;
  if (c == 0) return;
  if (n * hw == 0) {  // sums of nothing
    cuda::fill_zero(x.d_beta, size_t(c) * sizeof(float));
    cuda::fill_zero(x.d_gamma, size_t(c) * sizeof(float));
    return;
  }
  if (hw > 1) {
    cuda::launch(gradients, unsigned(c), kThreads, 0, x);
    return;
  }
  const bool fours = c % 4 == 0 && rows::aligned(x.x, x.gamma, x.running_mean, x.running_var, x.d_y, x.d_x,
                                                 x.d_gamma, x.d_beta);
  const unsigned across = rows::blocks_of(c, fours ? 128 : 32);
  const rows::Chunks chunks = rows::chunks_of(n, across, kWarps * kRows, cuda::device().multiprocessors);
  const cuda::Scratch partial(chunks.count > 1 ? sizeof(float) * size_t(2 * chunks.count * c) : 0);
  float* const d_gamma = chunks.count > 1 ? partial.as<float>() : x.d_gamma;
  float* const d_beta = chunks.count > 1 ? d_gamma + chunks.count * c : x.d_beta;
  cuda::launch(fours ? columns<4> : columns<1>, dim3(across, unsigned(chunks.count)), kThreads, 0, n,
               chunks.each, c, x.x, x.gamma, x.running_mean, x.running_var, x.epsilon, x.d_y, x.d_x, d_gamma,
               d_beta);
  if (chunks.count > 1) rows::launch_join(chunks.count, c, d_gamma, x.d_gamma, x.d_beta);
}

KLAB_VARIANT(BatchnormInferenceBwd, {.run = run,
                                     .parent = "02_block_per_channel",
                                     .tiles = {32, 128, kThreads},
                                     .expect = {.shape = {8192, 1024, 1}, .over_parent = 7},
                                     .when = {{8192, 1024, 1}, "channels without positions"}});

}  // namespace
}  // namespace klab
