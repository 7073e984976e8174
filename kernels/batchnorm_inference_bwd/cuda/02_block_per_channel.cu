// batchnorm_inference_bwd.cuda.02_block_per_channel: 256 threads share a channel.
//
// CHANGE    a block has a channel; its threads go along the positions, write as they go, and agree on both sums at the end by
//           shuffles and sixteen numbers in shared memory, with one barrier.
// EXPECT    neighbors read neighbors: 4 to 5 sectors/request in place of 32, and 256 times the threads. Without positions
//           (hw = 1) neighbors in the sequence are a row apart still.
// NUMERICS  256 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__global__ void __launch_bounds__(kThreads) gradients(BatchnormInferenceBwd::Args<float> a) {
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

void run(const BatchnormInferenceBwd::Args<float>& x) {
  if (x.shape.c == 0) return;
  if (x.shape.n * x.shape.hw == 0) {  // sums of nothing
    cuda::fill_zero(x.d_beta, size_t(x.shape.c) * sizeof(float));
    cuda::fill_zero(x.d_gamma, size_t(x.shape.c) * sizeof(float));
    return;
  }
  cuda::launch(gradients, unsigned(x.shape.c), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormInferenceBwd, {.run = run,
                                     .parent = "01_thread_per_channel",
                                     .tiles = {kThreads},
                                     .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 10}});

}  // namespace
}  // namespace klab
