// occupancy_bits.cuda.01_byte_per_thread: one thread per byte of the field.
//
// CHANGE   a launch adds up by atomics, a second one makes a byte a thread.
// EXPECT   a lane reads eight neighboring values by eight requests, 32 bytes from the next lane: every
//          request of the second launch touches 32 sectors. One atomic a cell on one address.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

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
  const int64_t c = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= cells || !(values[c] >= 0)) return;
  atomicAdd(sums, fixed(values[c], scale));
  atomicAdd(sums + 1, 1ULL);
}

__global__ void __launch_bounds__(kThreads)
    set_bits(OccupancyBits::Args<float> x, float scale, const unsigned long long* __restrict__ sums) {
  const int64_t b = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (b >= x.shape.cells / 8) return;
  const float limit = limit_of(*x.threshold, sums[0], sums[1], scale);
  unsigned byte = 0;
  for (int bit = 0; bit < 8; ++bit) byte |= unsigned(x.values[b * 8 + bit] > limit) << bit;
  x.bits[b] = uint8_t(byte);
  if (byte != 0) atomicAdd(x.occupied, __popc(byte));
}

void run(const OccupancyBits::Args<float>& x) {
  cuda::fill_zero(x.occupied, sizeof(int32_t));
  if (x.shape.cells == 0) return;
  const float scale = OccupancyBits::scale_of(x.shape.cells);
  cuda::Scratch scratch(2 * sizeof(unsigned long long));
  auto* sums = scratch.as<unsigned long long>();
  cuda::fill_zero(sums, 2 * sizeof(unsigned long long));
  const auto blocks = [](int64_t n) { return dim3(unsigned((n + kThreads - 1) / kThreads)); };
  cuda::launch(add_up, blocks(x.shape.cells), dim3(kThreads), 0, x.shape.cells, scale, x.values, sums);
  cuda::launch(set_bits, blocks(x.shape.cells / 8), dim3(kThreads), 0, x, scale, sums);
}

KLAB_VARIANT(OccupancyBits, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
