// layernorm_residual_fwd.cuda.01_two_launches: an addition, then a normalization.
//
// CHANGE    two kernels, as a framework without fusion launches them: a thread for each sum; then a warp for each row,
//           which reads it three times.
// EXPECT    the sum is written and read again: 5 numbers an element cross the border to memory where 4 are compulsory.
// NUMERICS  two passes; 32 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

__global__ void __launch_bounds__(kThreads) add(int64_t count, const float* __restrict__ x,
                                                const float* __restrict__ residual, float* __restrict__ sum) {
  const int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k < count) sum[k] = x[k] + residual[k];
}

#include "kernels/common/rows/02_warp_per_row-inl.h"

void run(const LayernormResidualFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(add, unsigned((n * c + kThreads - 1) / kThreads), kThreads, 0, n * c, x.x, x.residual, x.sum);
  cuda::launch(normalize, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.sum, x.gamma, x.beta,
               x.epsilon, x.y, x.mean, x.rstd);
}

KLAB_VARIANT(LayernormResidualFwd, {.run = run, .tiles = {kWarps, 32}});

}  // namespace
}  // namespace klab
