// weighted_sum.cuda.01_one_block: one block adds up.
//
// CHANGE   1024 threads walk over the entries, shuffles and a row of shared memory add up their sums.
// EXPECT   coalesced and the same at every run; one multiprocessor is enough for some ten thousand rays.
// NUMERICS products and sums in double.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

constexpr int kThreads = 1024;

__device__ __forceinline__ double sum_of_block(double value) {
  __shared__ double sums[kThreads / 32];
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < kThreads / 32; ++k) sum += sums[k];
  return sum;
}

__global__ void __launch_bounds__(kThreads) add_up(WeightedSum::Args<float> x) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < x.shape.n; i += kThreads) sum += double(x.weight[i]) * double(x.value[i]);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *x.sum += float(sum);
}

void run(const WeightedSum::Args<float>& x) { cuda::launch(add_up, dim3(1), dim3(kThreads), 0, x); }

KLAB_VARIANT(WeightedSum, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
