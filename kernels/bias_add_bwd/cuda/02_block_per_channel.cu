// bias_add_bwd.cuda.02_block_per_channel: many threads for a channel.
//
// CHANGE    a block has a channel; its threads go along the positions and agree by shuffles. Behind a matrix product (hw = 1)
//           a block has 32 channels and eight warps, each of which takes every eighth row: lanes are channels, and eight partial
//           sums each meet in shared memory.
// EXPECT    of images 4 to 5 sectors/request in place of 32; behind a matrix product eight times the threads.
// NUMERICS  256 strided partial sums, then tree order; without positions eight.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/bias_add_bwd/cuda/02_block_per_channel-inl.h"

__global__ void __launch_bounds__(kThreads) columns(BiasAddBwd::Args<float> a) {
  __shared__ float part[kWarps][32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t j = int64_t(blockIdx.x) * 32 + lane, c = a.shape.c;
  float sum = 0;
  for (int64_t i = warp; i < a.shape.n && j < c; i += kWarps) sum += a.d_y[i * c + j];
  part[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || j >= c) return;
  sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[w][lane];
  a.d_bias[j] = sum;
}

void run(const BiasAddBwd::Args<float>& x) {
  const int64_t c = x.shape.c;
  if (c == 0) return;
  if (x.shape.hw == 1)
    cuda::launch(columns, unsigned((c + 31) / 32), kThreads, 0, x);
  else
    cuda::launch(positions, unsigned(c), kThreads, 0, x);
}

KLAB_VARIANT(BiasAddBwd, {.run = run,
                          .parent = "01_thread_per_channel",
                          .forward = "02_block_per_run",
                          .tiles = {kWarps, 32},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 3}});

}  // namespace
}  // namespace klab
