// reduce.cuda.02_two_kernels: many blocks, then one.
//
// CHANGE    eight blocks a multiprocessor add up shares and leave their sums in memory; one block of a second launch adds
//           these.
// EXPECT    as many bytes in flight as memory takes, where one multiprocessor had a hundredth: some hundred times faster at
//           2^26 elements. The second launch costs 2 to 3 us.
// NUMERICS  an element passes through some twenty additions and its thread's share; the order follows from n and the GPU.
// NEEDS     4 bytes a block.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/reduce/reduce.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kItems = 16, kTile = kThreads * kItems;
constexpr int kBlocksEach = 8;  // of a multiprocessor: all threads that it holds

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

/// Block b leaves the sum of its share in sums[b].
__global__ void __launch_bounds__(kThreads) add_up(const float* __restrict__ x, int64_t n, float* sums) {
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  float own = 0;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) own += x[i];
  own = sum_of_block(own);
  if (threadIdx.x == 0) sums[blockIdx.x] = own;
}

void run(const Reduce::Args<float>& x) {
  const int64_t wanted = (x.shape.n + kTile - 1) / kTile;
  const int64_t held = int64_t(cuda::device().multiprocessors) * kBlocksEach;
  const int64_t blocks = wanted < 1 ? 1 : wanted < held ? wanted : held;
  const cuda::Scratch scratch(size_t(blocks) * sizeof(float));
  cuda::launch(add_up, unsigned(blocks), kThreads, 0, x.x, x.shape.n, scratch.as<float>());
  cuda::launch(add_up, 1U, kThreads, 0, scratch.as<float>(), blocks, x.sum);
}

KLAB_VARIANT(Reduce, {.run = run,
                      .parent = "01_one_block",
                      .tiles = {32, kThreads, kTile},
                      .expect = {.shape = {1 << 26}, .over_parent = 60}});

}  // namespace
}  // namespace klab
