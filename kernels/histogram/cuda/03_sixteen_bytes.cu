// histogram.cuda.03_sixteen_bytes: sixteen keys in flight.
//
// CHANGE    a thread loads four times four keys before it counts the first.
// EXPECT    the parent loads a key and waits for it before the next, since an atomic may not be moved; here a wait brings sixteen. As
//           fast as memory is read, some 66 us for 2^26 keys.
// NUMERICS  as the parent.
// NEEDS     1 KiB of shared memory; a tensor that begins on 16 bytes, as cudaMalloc returns it: others go key by key.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/histogram/histogram.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kLoads = 4, kTile = kThreads * kLoads * 4;
constexpr int kBlocksEach = 8;  // of a multiprocessor: all threads that it holds
static_assert(kThreads == Histogram::bins, "a thread a bin");

__device__ __forceinline__ void count_one(uint32_t* own, uint32_t key) {
  if (key < Histogram::bins) atomicAdd(&own[key], 1U);
}

__global__ void __launch_bounds__(kThreads)
    count(const uint32_t* __restrict__ keys, int64_t n, int64_t fours, uint32_t* counts) {
  __shared__ uint32_t own[Histogram::bins];
  own[threadIdx.x] = 0;
  __syncthreads();
  const auto* const keys4 = reinterpret_cast<const uint4*>(keys);
  const int64_t stride = int64_t(gridDim.x) * kThreads, first = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < fours; i += kLoads * stride) {
    uint4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      v[k] =
          i + k * stride < fours ? keys4[i + k * stride] : make_uint4(~0U, ~0U, ~0U, ~0U);  // counted nowhere
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      count_one(own, v[k].x);
      count_one(own, v[k].y);
      count_one(own, v[k].z);
      count_one(own, v[k].w);
    }
  }
  for (int64_t i = 4 * fours + first; i < n; i += stride)
    count_one(own, keys[i]);  // at most three are left, or all
  __syncthreads();
  if (own[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

void run(const Histogram::Args<float>& x) {
  cuda::fill_zero(x.counts, Histogram::bins * sizeof(uint32_t));
  if (x.shape.n == 0) return;
  const int64_t wanted = (x.shape.n + kTile - 1) / kTile;
  const int64_t held = int64_t(cuda::device().multiprocessors) * kBlocksEach;
  const int64_t fours = reinterpret_cast<uintptr_t>(x.keys) % 16 == 0 ? x.shape.n / 4 : 0;
  cuda::launch(count, unsigned(wanted < held ? wanted : held), kThreads, 0, x.keys, x.shape.n, fours,
               x.counts);
}

KLAB_VARIANT(Histogram, {.run = run,
                         .parent = "02_shared",
                         .tiles = {4, 32, kThreads, kTile},
                         .expect = {.shape = {1 << 26}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
