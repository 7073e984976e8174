// layernorm_fwd.cuda.01_block_per_row: 256 threads agree on a mean, then on a variance.
//
// CHANGE    a block has a row. Each thread adds up every 256th feature, and 256 partial sums become one in
//           shared memory, halving; the same again for the squares about the mean.
// EXPECT    nine barriers a sum, twice, and half of the threads idle after the first: at a thousand features
//           a thread has four of them, and it mostly waits. The row is requested three times.
// NUMERICS  two passes; strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// Returns the sum over all threads, in each of them. `part` is shared, a float for each thread, and free
/// again afterwards.
__device__ __forceinline__ float sum_of(float own, float* part) {
  const int t = int(threadIdx.x);
  part[t] = own;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  __syncthreads();
  const float sum = part[0];
  __syncthreads();
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    normalize(int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
              const float* __restrict__ beta, const float* __restrict__ epsilon, float* __restrict__ y,
              float* __restrict__ mean_of, float* __restrict__ rstd_of) {
  __shared__ float part[kThreads];
  const int64_t i = blockIdx.x;
  const float* row = x + i * c;
  float sum = 0;
  for (int64_t j = threadIdx.x; j < c; j += kThreads) sum += row[j];
  const float mean = sum_of(sum, part) / float(c);
  float squares = 0;
  for (int64_t j = threadIdx.x; j < c; j += kThreads) squares += (row[j] - mean) * (row[j] - mean);
  const float rstd = 1 / sqrtf(sum_of(squares, part) / float(c) + *epsilon);
  for (int64_t j = threadIdx.x; j < c; j += kThreads)
    y[i * c + j] = gamma[j] * ((row[j] - mean) * rstd) + beta[j];
  if (threadIdx.x == 0) {
    mean_of[i] = mean;
    rstd_of[i] = rstd;
  }
}

void run(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(normalize, unsigned(n), kThreads, 0, c, x.x, x.gamma, x.beta, x.epsilon, x.y, x.mean, x.rstd);
}

KLAB_VARIANT(LayernormFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
