// spread_samples.cuda.01_sample_per_thread: one thread per sample.
//
// CHANGE   a thread finds its ray by binary search in the begins.
// EXPECT   stores are whole lines; neighbors mostly have the same ray, whose direction all their lanes read
//          at once.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/spread_samples/spread_samples.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// The ray that sample i belongs to: the last one that begins at or before it, among those with samples.
__device__ __forceinline__ int64_t ray_of(const int32_t* __restrict__ begin, int64_t rays, int64_t i) {
  int64_t low = 0, high = rays;  // begin[low] <= i < begin[high]
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (begin[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kThreads) spread(SpreadSamples::Args<float> x) {
  const SpreadSamples::Shape& s = x.shape;
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.samples) return;
  const bool mine = i < x.begin[s.rays];
  const int64_t r = mine ? ray_of(x.begin, s.rays, i) : 0;
  const int64_t from = mine ? x.ray_begin[r] + i - x.begin[r] : 0;
  const bool real = mine && from < x.ray_begin[r + 1];
  for (int64_t axis = 0; axis < 3; ++axis)
    x.sample_directions[axis * s.samples + i] = real ? x.directions[axis * s.rays + r] : float(axis == 2);
  x.sample_t[i] = real ? x.t[from] : 0;
  x.sample_delta[i] = real ? x.delta[from] : 0;
}

void run(const SpreadSamples::Args<float>& x) {
  if (x.shape.samples == 0) return;
  cuda::launch(spread, dim3(unsigned((x.shape.samples + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(SpreadSamples, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
