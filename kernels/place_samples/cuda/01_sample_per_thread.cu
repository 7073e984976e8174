// place_samples.cuda.01_sample_per_thread: one thread per sample.
//
// CHANGE   a thread finds its ray by binary search in the begins.
// EXPECT   stores are whole lines; the search reads some thirteen begins, which all lanes of a warp share
//          except for the last few.
#include "harness/core/registrar.h"
#include "kernels/common/block_size.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rays/graded_device.h"
#include "reference/place_samples/place_samples.h"

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

__global__ void __launch_bounds__(cuda::kMostThreads) place(PlaceSamples::Args<float> x) {
  const PlaceSamples::Shape& s = x.shape;
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= s.samples) return;
  const bool mine = i < x.begin[s.rays];
  const int64_t r = mine ? ray_of(x.begin, s.rays, i) : 0;
  const int64_t from = mine ? x.ray_begin[r] + s.first + i - x.begin[r] : 0;
  const bool real = mine && from < x.ray_begin[r + 1];
  const float t = real ? x.t[from] : 0, side = x.volume[0];
  const int shells = x.volume[1] != 0 ? ilogbf(side) : 0;
  for (int64_t axis = 0; axis < 3; ++axis) {
    float p = 0.5F;
    if (real) {
      const float y = x.origins[axis * s.rays + r] + t * x.directions[axis * s.rays + r] - 0.5F;
      p = shells < 2 ? fminf(fmaxf(0.5F + y / side, 0.0F), 1.0F) : graded_place(shells, y);
    }
    x.positions[axis * s.samples + i] = p;
  }
}

void run(const PlaceSamples::Args<float>& x) {
  if (x.shape.samples == 0) return;
  const int block = cuda::block_size("place_samples.cuda.01_sample_per_thread", kThreads);
  cuda::launch(place, dim3(unsigned((x.shape.samples + block - 1) / block)), dim3(unsigned(block)), 0, x);
}

KLAB_VARIANT(PlaceSamples, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
