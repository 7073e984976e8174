// round_narrow.cuda.02_counted_by_warps: sixteen bytes an access, three atomics a warp.
//
// CHANGE    a thread has four neighbors, one request for all of them; the outcomes of a warp's 128 numbers
//           are added up by shuffles, and one lane adds it to the counts.
// EXPECT    a quarter of the requests, and at most three atomics for 128 numbers in place of one for each:
//           near the bandwidth of the memory.
// NUMERICS  the contract's bits; integers in any order.
// NEEDS     nothing; where x or y does not begin on 16 bytes, one number at a time.
#include "harness/core/registrar.h"
#include "kernels/common/formats/rounding_device.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kEach = 4;

/// Adds up over a warp, and into the memory by its first lane, unless there is nothing to add.
__device__ __forceinline__ void add(int* to, int count) {
  for (int step = 16; step > 0; step /= 2) count += __shfl_xor_sync(~0U, count, step);
  if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(to, count);
}

__global__ void __launch_bounds__(kThreads)
    convert(int64_t n, rounding_device::Rounding rounding, bool aligned, const float* x, const float* factor,
            float* y, int* lost) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * kEach;
  const float times = *factor;
  rounding_device::Counts counts;
  if (aligned && i + kEach <= n) {
    float4 four = *reinterpret_cast<const float4*>(x + i);
    four.x = rounding_device::rounded(rounding, four.x * times, counts);
    four.y = rounding_device::rounded(rounding, four.y * times, counts);
    four.z = rounding_device::rounded(rounding, four.z * times, counts);
    four.w = rounding_device::rounded(rounding, four.w * times, counts);
    *reinterpret_cast<float4*>(y + i) = four;
  } else {
    for (int64_t k = i; k < min(n, i + kEach); ++k)
      y[k] = rounding_device::rounded(rounding, x[k] * times, counts);
  }
  add(lost, counts.numbers);
  add(lost + 1, counts.to_zero);
  add(lost + 2, counts.infinite);
}

void run(const RoundNarrow::Args<float>& x) {
  const int64_t n = x.shape.n, block = kThreads * kEach;
  if (n == 0) return;
  const bool aligned = (reinterpret_cast<uintptr_t>(x.x) | reinterpret_cast<uintptr_t>(x.y)) % 16 == 0;
  cuda::launch(convert, dim3(unsigned((n + block - 1) / block)), dim3(kThreads), 0, n,
               rounding_device::rounding_to(RoundNarrow::format_of(x.shape.format)), aligned, x.x, x.factor,
               x.y, x.lost);
}

KLAB_VARIANT(RoundNarrow, {.run = run, .parent = "01_one_each", .tiles = {kEach, kThreads* kEach}});

}  // namespace
}  // namespace klab
