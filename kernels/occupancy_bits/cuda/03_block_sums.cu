// occupancy_bits.cuda.03_block_sums: one atomic a block and number.
//
// CHANGE   warps add up in shared memory, and a thread of a block adds two numbers to memory in place of one lane of each warp;
//          the same for the number of occupied cells. A thread has 16 cells, all loaded before the first is used.
// EXPECT   atomics to one address take just under 2 ns each: the parent's 8,192 warps and two words are 27 us. 512 blocks have
//          a sixteenth, behind the loads of 8 MB, 2 us: with four launches some 10 us, at least twice the parent.
// SASS     REDG.ADD REDG.ADD.64; no ATOMG LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kEach = 16, kWarps = kThreads / 32;

__device__ __forceinline__ float limit_of(float threshold, unsigned long long sum, unsigned long long seen,
                                          float scale) {
  const float mean = seen > 0 ? float(double(sum) / double(scale) / double(seen)) : 0.0F;
  return threshold < mean ? threshold : mean;
}

__device__ __forceinline__ unsigned long long fixed(float v, float scale) {
  return (unsigned long long)((v < 1e4F ? v : 1e4F) * scale);
}

/// Returns the sum over the block, to thread 0. All threads call it, once for each type.
template <class T>
__device__ __forceinline__ T sum_of_block(T value) {
  __shared__ T sums[kWarps];
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  for (int w = 1; w < kWarps && threadIdx.x == 0; ++w) value += sums[w];
  return value;
}

__global__ void __launch_bounds__(kThreads)
    add_up(int64_t cells, float scale, const float* __restrict__ values,
           unsigned long long* __restrict__ sums) {
  unsigned long long sum = 0;
  int seen = 0;
  const int64_t first = int64_t(blockIdx.x) * kThreads * kEach + threadIdx.x;
  float value[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) value[k] = first + k * kThreads < cells ? values[first + k * kThreads] : -1;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (!(value[k] >= 0)) continue;
    sum += fixed(value[k], scale);
    ++seen;
  }
  sum = sum_of_block(sum);
  seen = sum_of_block(seen);
  if (threadIdx.x != 0 || seen == 0) return;
  atomicAdd(sums, sum);
  atomicAdd(sums + 1, (unsigned long long)(seen));
}

__global__ void __launch_bounds__(kThreads)
    set_bits(OccupancyBits::Args<float> x, float scale, const unsigned long long* __restrict__ sums) {
  const float limit = limit_of(*x.threshold, sums[0], sums[1], scale);
  const int lane = int(threadIdx.x) % 32;
  const int64_t first = int64_t(blockIdx.x) * kThreads * kEach + threadIdx.x;
  float value[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    value[k] = first + k * kThreads < x.shape.cells ? x.values[first + k * kThreads] : limit;
  int set = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int64_t c = first + k * kThreads;
    const unsigned word = __ballot_sync(~0U, c < x.shape.cells && value[k] > limit);
    const int64_t byte = c / 8;  // the first lane of eight writes their byte
    if (lane % 8 == 0 && c < x.shape.cells) x.bits[byte] = uint8_t(word >> lane);
    set += lane == 0 ? __popc(word) : 0;
  }
  set = sum_of_block(set);
  if (threadIdx.x == 0 && set > 0) atomicAdd(x.occupied, set);
}

void run(const OccupancyBits::Args<float>& x) {
  cuda::fill_zero(x.occupied, sizeof(int32_t));
  if (x.shape.cells == 0) return;
  const float scale = OccupancyBits::scale_of(x.shape.cells);
  cuda::Scratch scratch(2 * sizeof(unsigned long long));
  auto* sums = scratch.as<unsigned long long>();
  cuda::fill_zero(sums, 2 * sizeof(unsigned long long));
  const dim3 blocks(unsigned((x.shape.cells + kThreads * kEach - 1) / (kThreads * kEach)));
  cuda::launch(add_up, blocks, dim3(kThreads), 0, x.shape.cells, scale, x.values, sums);
  cuda::launch(set_bits, blocks, dim3(kThreads), 0, x, scale, sums);
}

KLAB_VARIANT(OccupancyBits, {.run = run,
                             .parent = "02_ballot",
                             .tiles = {32, kThreads, kThreads* kEach},
                             .expect = {.shape = {1 << 21}, .over_parent = 2}});

}  // namespace
}  // namespace klab
