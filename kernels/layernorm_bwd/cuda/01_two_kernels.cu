// layernorm_bwd.cuda.01_two_kernels: rows by warps, columns by threads.
//
// CHANGE    a warp has a row and writes its d_x; then a thread has a column and walks down all rows for
//           d_gamma and d_beta, next to its neighbors.
// EXPECT    x and d_y cross the border three times. The second kernel has no more threads than there are
//           features: at a thousand, four blocks, on a device that runs a hundred.
// NUMERICS  32 strided partial sums and tree order along rows; one accumulator down a column.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    rows(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
         const float* __restrict__ mean_of, const float* __restrict__ rstd_of, const float* __restrict__ d_y,
         float* __restrict__ d_x) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float mean = mean_of[i], rstd = rstd_of[i];
  float sum = 0, product = 0;
  for (int64_t j = lane; j < c; j += 32) {
    const float g = d_y[i * c + j] * gamma[j];
    sum += g;
    product += g * ((x[i * c + j] - mean) * rstd);
  }
  sum = sum_of(sum) / float(c);
  product = sum_of(product) / float(c);
  for (int64_t j = lane; j < c; j += 32)
    d_x[i * c + j] = rstd * (d_y[i * c + j] * gamma[j] - sum - (x[i * c + j] - mean) * rstd * product);
}

__global__ void __launch_bounds__(kThreads)
    columns(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ mean_of,
            const float* __restrict__ rstd_of, const float* __restrict__ d_y, float* __restrict__ d_gamma,
            float* __restrict__ d_beta) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  float gamma = 0, beta = 0;
  for (int64_t i = 0; i < n; ++i) {
    gamma += d_y[i * c + j] * ((x[i * c + j] - mean_of[i]) * rstd_of[i]);
    beta += d_y[i * c + j];
  }
  d_gamma[j] = gamma;
  d_beta[j] = beta;
}

void run(const LayernormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n > 0)
    cuda::launch(rows, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.x, x.gamma, x.mean, x.rstd,
                 x.d_y, x.d_x);
  cuda::launch(columns, unsigned((c + kThreads - 1) / kThreads), kThreads, 0, n, c, x.x, x.mean, x.rstd,
               x.d_y, x.d_gamma, x.d_beta);
}

KLAB_VARIANT(LayernormBwd, {.run = run, .forward = "01_block_per_row", .tiles = {kWarps, 32}});

}  // namespace
}  // namespace klab
