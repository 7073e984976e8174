// histogram.cuda.02_shared: a histogram a block in shared memory.
//
// CHANGE    a block counts its share of the keys in shared memory, and adds 256 sums to the result at its end.
// EXPECT    atomics stay in the multiprocessor, where a warp's take some four cycles at random keys: 2^26 keys are 35 us of these, so
//           reading, 62 us, comes into reach. Global atomics: 256 a block in place of one a key.
// NUMERICS  as the parent.
// NEEDS     1 KiB of shared memory.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/histogram/histogram.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kItems = 16, kTile = kThreads * kItems;
constexpr int kBlocksEach = 8;  // of a multiprocessor: all threads that it holds
static_assert(kThreads == Histogram::bins, "a thread a bin");

__global__ void __launch_bounds__(kThreads)
    count(const uint32_t* __restrict__ keys, int64_t n, uint32_t* counts) {
  __shared__ uint32_t own[Histogram::bins];
  own[threadIdx.x] = 0;
  __syncthreads();
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride)
    if (keys[i] < Histogram::bins) atomicAdd(&own[keys[i]], 1U);
  __syncthreads();
  if (own[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

void run(const Histogram::Args<float>& x) {
  cuda::fill_zero(x.counts, Histogram::bins * sizeof(uint32_t));
  if (x.shape.n == 0) return;
  const int64_t wanted = (x.shape.n + kTile - 1) / kTile;
  const int64_t held = int64_t(cuda::device().multiprocessors) * kBlocksEach;
  cuda::launch(count, unsigned(wanted < held ? wanted : held), kThreads, 0, x.keys, x.shape.n, x.counts);
}

KLAB_VARIANT(Histogram, {.run = run,
                         .parent = "01_global_atomics",
                         .tiles = {32, kThreads, kTile},
                         .expect = {.shape = {1 << 26}, .over_parent = 4}});

}  // namespace
}  // namespace klab
