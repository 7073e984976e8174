// batchnorm_fwd.cuda.02_block_per_channel: 256 threads share a channel.
//
// CHANGE    a block has a channel; its threads go along the positions, all of them and all examples as one sequence, and agree
//           on the sum and on the squares by shuffles and eight numbers in shared memory.
// EXPECT    neighbors read neighbors: 4 to 5 sectors/request in place of 32, and 256 times the threads. Without positions
//           (hw = 1) neighbors in the sequence are a row apart still.
// NUMERICS  two passes; 256 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

/// Returns the sum over all threads, in each of them. `part` is shared, and a different array at each call:
/// otherwise the second call would overwrite values that the first still reads.
__device__ __forceinline__ float sum_of(float v, float (&part)[kWarps]) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[w];
  return sum;
}

/// Position of the k-th number of channel j.
__device__ __forceinline__ int64_t at(unsigned k, int64_t j, int64_t c, unsigned hw) {
  return (k / hw * c + j) * hw + k % hw;
}

__global__ void __launch_bounds__(kThreads) normalize(BatchnormFwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t j = blockIdx.x, c = a.shape.c;
  const auto hw = unsigned(a.shape.hw), N = unsigned(a.shape.n) * hw;
  float sum = 0, squares = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) sum += a.x[at(k, j, c, hw)];
  const float mean = sum_of(sum, part[0]) / float(N);
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const float deviation = a.x[at(k, j, c, hw)] - mean;
    squares += deviation * deviation;
  }
  const float variance = sum_of(squares, part[1]) / float(N), rstd = 1 / sqrtf(variance + *a.epsilon);
  const float gamma = a.gamma[j], beta = a.beta[j];
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const int64_t p = at(k, j, c, hw);
    a.y[p] = gamma * ((a.x[p] - mean) * rstd) + beta;
  }
  if (threadIdx.x > 0) return;
  a.mean[j] = mean;
  a.rstd[j] = rstd;
  const float unbiased = N > 1 ? float(N) / float(N - 1) : 1;
  a.running_mean[j] += *a.momentum * (mean - a.running_mean[j]);
  a.running_var[j] += *a.momentum * (unbiased * variance - a.running_var[j]);
}

void run(const BatchnormFwd::Args<float>& x) {
  if (x.shape.c > 0) cuda::launch(normalize, unsigned(x.shape.c), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "01_thread_per_channel",
                            .tiles = {kThreads},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 10}});

}  // namespace
}  // namespace klab
