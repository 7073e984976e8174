// batchnorm_bwd.cuda.02_block_per_channel: 256 threads share a channel.
//
// CHANGE    a block has a channel; its threads go along the positions, and agree on both sums by shuffles and sixteen numbers
//           in shared memory, with one barrier.
// EXPECT    neighbors read neighbors: 4 to 5 sectors/request in place of 32, and 256 times the threads. Without positions
//           (hw = 1) neighbors in the sequence are a row apart still.
// NUMERICS  256 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/common/rows/02_block_per_channel-inl.h"

/// Position of the k-th number of channel j.
__device__ __forceinline__ int64_t at(unsigned k, int64_t j, int64_t c, unsigned hw) {
  return (k / hw * c + j) * hw + k % hw;
}

__global__ void __launch_bounds__(kThreads) gradients(BatchnormBwd::Args<float> a) {
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

void run(const BatchnormBwd::Args<float>& x) {
  if (x.shape.c > 0) cuda::launch(gradients, unsigned(x.shape.c), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormBwd, {.run = run,
                            .parent = "01_thread_per_channel",
                            .forward = "02_block_per_channel",
                            .tiles = {kThreads},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 10}});

}  // namespace
}  // namespace klab
