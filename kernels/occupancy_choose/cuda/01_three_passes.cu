// occupancy_choose.cuda.01_three_passes: count, scan, write.
//
// CHANGE   blocks count the chosen cells, one thread adds up the blocks, blocks choose again and write.
// EXPECT   the generator runs twice for a thread of four cells; the time of the single thread is negligible
//          for some hundred blocks.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "reference/occupancy_choose/occupancy_choose.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kCells = 4 * kThreads;

#include "kernels/occupancy_choose/cuda/01_three_passes-inl.h"

/// How many the threads before this one have, and in *all how many the block has.
__device__ __forceinline__ int rank_in_block(int n, int* all) {
  __shared__ int sums[kThreads / 32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  int sum = n;
  for (int by = 1; by < 32; by *= 2) {
    const int below = __shfl_up_sync(~0U, sum, by);
    if (lane >= by) sum += below;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  int before = 0;
  *all = 0;
  for (int k = 0; k < kThreads / 32; ++k) {
    if (k < warp) before += sums[k];
    *all += sums[k];
  }
  return before + sum - n;
}

__global__ void __launch_bounds__(kThreads)
    count_chosen(OccupancyChoose::Args<float> x, int* __restrict__ blocks) {
  const int64_t c = int64_t(blockIdx.x) * kCells + 4 * threadIdx.x;
  int all = 0;
  rank_in_block(__popc(chosen_of(x, limits_of(x), c)), &all);
  if (threadIdx.x == 0) blocks[blockIdx.x] = all;
}

__global__ void scan_blocks(int count, int* __restrict__ blocks, int32_t* __restrict__ total) {
  int at = 0;
  for (int b = 0; b < count; ++b) {
    const int n = blocks[b];
    blocks[b] = at;
    at += n;
  }
  *total = at;
}

__global__ void __launch_bounds__(kThreads)
    write_chosen(OccupancyChoose::Args<float> x, const int* __restrict__ blocks) {
  const int64_t c = int64_t(blockIdx.x) * kCells + 4 * threadIdx.x;
  const unsigned chosen = chosen_of(x, limits_of(x), c);
  int all = 0;
  int64_t at = blocks[blockIdx.x] + rank_in_block(__popc(chosen), &all);
  for (int k = 0; k < 4; ++k)
    if (chosen >> k & 1) x.chosen[at++] = int32_t(c + k);
  for (int k = 0; k < 4; ++k)
    if (c + k < x.shape.cells && c + k >= *x.count) x.chosen[c + k] = -1;
}

void run(const OccupancyChoose::Args<float>& x) {
  if (x.shape.cells == 0) {
    cuda::fill_zero(x.count, sizeof(int32_t));
    return;
  }
  const unsigned count = unsigned((x.shape.cells + kCells - 1) / kCells);
  cuda::Scratch scratch(count * sizeof(int));
  cuda::launch(count_chosen, dim3(count), dim3(kThreads), 0, x, scratch.as<int>());
  cuda::launch(scan_blocks, dim3(1), dim3(1), 0, int(count), scratch.as<int>(), x.count);
  cuda::launch(write_chosen, dim3(count), dim3(kThreads), 0, x, scratch.as<int>());
}

KLAB_VARIANT(OccupancyChoose, {.run = run, .tiles = {kCells}});

}  // namespace
}  // namespace klab
