// occupancy_bits.cuda.02_ballot: one lane per cell, a ballot per 32 bits.
//
// CHANGE   lanes of a warp compare neighboring values, and __ballot_sync is the word of the field; sums are
//          taken in registers and by shuffles, one atomic a warp.
// EXPECT   four sectors/request instead of 32, and a thousandth of the atomics.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kEach = 8;

__device__ __forceinline__ float limit_of(float threshold, unsigned long long sum, unsigned long long seen,
                                          float scale) {
  const float mean = seen > 0 ? float(double(sum) / double(scale) / double(seen)) : 0.0F;
  return threshold < mean ? threshold : mean;
}

__device__ __forceinline__ unsigned long long fixed(float v, float scale) {
  return (unsigned long long)((v < 1e4F ? v : 1e4F) * scale);
}

__global__ void __launch_bounds__(kThreads)
    add_up(int64_t cells, float scale, const float* __restrict__ values,
           unsigned long long* __restrict__ sums) {
  unsigned long long sum = 0, seen = 0;
  const int64_t first = int64_t(blockIdx.x) * kThreads * kEach + threadIdx.x;
  for (int64_t k = 0; k < kEach; ++k) {
    const int64_t c = first + k * kThreads;
    if (c >= cells || !(values[c] >= 0)) continue;
    sum += fixed(values[c], scale);
    ++seen;
  }
  for (int by = 16; by > 0; by /= 2) {
    sum += __shfl_xor_sync(~0U, sum, by);
    seen += __shfl_xor_sync(~0U, seen, by);
  }
  if (threadIdx.x % 32 != 0 || seen == 0) return;
  atomicAdd(sums, sum);
  atomicAdd(sums + 1, seen);
}

__global__ void __launch_bounds__(kThreads)
    set_bits(OccupancyBits::Args<float> x, float scale, const unsigned long long* __restrict__ sums) {
  const float limit = limit_of(*x.threshold, sums[0], sums[1], scale);
  const int lane = int(threadIdx.x) % 32;
  int set = 0;
  for (int k = 0; k < kEach; ++k) {
    const int64_t c = (int64_t(blockIdx.x) * kEach + k) * kThreads + threadIdx.x;
    const unsigned word = __ballot_sync(~0U, c < x.shape.cells && x.values[c] > limit);
    const int64_t byte = c / 8;  // the first lane of eight writes their byte
    if (lane % 8 == 0 && c < x.shape.cells) x.bits[byte] = uint8_t(word >> lane);
    set += __popc(word);
  }
  if (lane == 0 && set > 0) atomicAdd(x.occupied, set);
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

KLAB_VARIANT(OccupancyBits,
             {.run = run, .parent = "01_byte_per_thread", .tiles = {32, kThreads, kThreads* kEach}});

}  // namespace
}  // namespace klab
