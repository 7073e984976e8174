// round_narrow.cuda.03_counted_by_blocks: three atomics for 4,096 numbers.
//
// CHANGE    a thread has four times four numbers, all loaded before the first is rounded; warps add up their counts in shared
//           memory, and one thread of a block adds them to memory.
// EXPECT    atomics to one address take just under 2 ns each: at 4 million numbers the parent's 32,768 warps wait for some 60
//           us in all. 1,024 blocks need 2 us for each of three counts, behind 33 MB that take 8 us: at least 3 times the
//           parent.
// NUMERICS  as the parent.
// NEEDS     as the parent.
// SASS      LDG.128 STG.128 REDG.ADD; no ATOMG LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/formats/rounding_device.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kFours = 4, kTile = kThreads * 4 * kFours;

__global__ void __launch_bounds__(kThreads)
    convert(int64_t n, rounding_device::Rounding rounding, bool aligned, const float* x, const float* factor,
            float* y, int* lost) {
  __shared__ int of_warps[3][kWarps];
  const int64_t first = int64_t(blockIdx.x) * kTile + threadIdx.x * 4;
  const float times = *factor;
  rounding_device::Counts counts;
  const auto whole = [&](int k) { return aligned && first + k * kThreads * 4 + 4 <= n; };
  float4 fours[kFours];
#pragma unroll
  for (int k = 0; k < kFours; ++k)
    if (whole(k)) fours[k] = *reinterpret_cast<const float4*>(x + first + k * kThreads * 4);
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    const int64_t i = first + k * kThreads * 4;
    if (whole(k)) {
      float4 four = fours[k];
      four.x = rounding_device::rounded(rounding, four.x * times, counts);
      four.y = rounding_device::rounded(rounding, four.y * times, counts);
      four.z = rounding_device::rounded(rounding, four.z * times, counts);
      four.w = rounding_device::rounded(rounding, four.w * times, counts);
      *reinterpret_cast<float4*>(y + i) = four;
    } else {
      for (int64_t j = i; j < min(n, i + 4); ++j)
        y[j] = rounding_device::rounded(rounding, x[j] * times, counts);
    }
  }
  int sums[3] = {counts.numbers, counts.to_zero, counts.infinite};
  for (int c = 0; c < 3; ++c) {
    for (int step = 16; step > 0; step /= 2) sums[c] += __shfl_xor_sync(~0U, sums[c], step);
    if (threadIdx.x % 32 == 0) of_warps[c][threadIdx.x / 32] = sums[c];
  }
  __syncthreads();
  if (threadIdx.x >= 3) return;
  int sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += of_warps[threadIdx.x][w];
  if (sum > 0) atomicAdd(lost + threadIdx.x, sum);
}

void run(const RoundNarrow::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const bool aligned = (reinterpret_cast<uintptr_t>(x.x) | reinterpret_cast<uintptr_t>(x.y)) % 16 == 0;
  cuda::launch(convert, dim3(unsigned((n + kTile - 1) / kTile)), dim3(kThreads), 0, n,
               rounding_device::rounding_to(RoundNarrow::format_of(x.shape.format)), aligned, x.x, x.factor,
               x.y, x.lost);
}

KLAB_VARIANT(RoundNarrow, {.run = run,
                           .parent = "02_counted_by_warps",
                           .tiles = {4, kTile},
                           .expect = {.shape = {1 << 22, 0}, .over_parent = 3}});

}  // namespace
}  // namespace klab
