// histogram.cuda.01_global_atomics: a thread a key, and all add to 256 words.
//
// CHANGE    an atomic addition to global memory for each key.
// EXPECT    all keys of the GPU meet in eight lines of L2. At just under 2 ns for each addition to one word, 2^26 keys over 256 words
//           take half a millisecond at least, and 0.13 s where all are equal.
// NUMERICS  whole numbers: the order of the additions does not show.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/histogram/histogram.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    count(const uint32_t* __restrict__ keys, int64_t n, uint32_t* counts) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n && keys[i] < Histogram::bins) atomicAdd(&counts[keys[i]], 1U);
}

void run(const Histogram::Args<float>& x) {
  cuda::fill_zero(x.counts, Histogram::bins * sizeof(uint32_t));
  if (x.shape.n == 0) return;
  cuda::launch(count, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x.keys, x.shape.n,
               x.counts);
}

KLAB_VARIANT(Histogram, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
