// reduce.cuda.01_one_block: one block adds up.
//
// CHANGE    1,024 threads walk over the elements side by side. The sums of a warp are added by shuffles, those of the warps
//           through shared memory.
// EXPECT    coalesced, and one multiprocessor of 132: it has some 16 KB in flight for 0.7 us each, 16 KB / 0.7 us = 23 GB/s.
// NUMERICS  an element passes through n/1024 + 10 additions.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/reduce/reduce.h"

namespace klab {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32;

/// Returns the sum over the block to its first warp. All threads call it, once.
__device__ __forceinline__ float sum_of_block(float value) {
  __shared__ float sums[kWarps];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp > 0) return 0;
  value = lane < kWarps ? sums[lane] : 0;
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  return value;
}

__global__ void __launch_bounds__(kThreads) add_up(const float* __restrict__ x, int64_t n, float* sum) {
  float own = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) own += x[i];
  own = sum_of_block(own);
  if (threadIdx.x == 0) *sum = own;
}

void run(const Reduce::Args<float>& x) { cuda::launch(add_up, 1U, kThreads, 0, x.x, x.shape.n, x.sum); }

KLAB_VARIANT(Reduce, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
