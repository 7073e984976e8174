// sample_weights_fwd.cuda.02_warp_per_ray: 32 samples of a ray at a time.
//
// CHANGE    a warp has a ray. Lanes take neighboring samples, a scan by shuffles adds up their optical depths, and the next 32
//           are loaded before that.
// EXPECT    the longest ray's chain is a 32nd as long, and a step of it longer by five shuffles: a tenth of the parent's
//           time at rays of thousands of samples. A ray of three leaves 29 lanes idle; that costs nothing while
//           there is room for its warp.
// NUMERICS  float; sums of 32 in a tree, then one after the other.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__global__ void __launch_bounds__(kThreads)
    weigh(int64_t rays, const int32_t* __restrict__ ray_begin, const float* __restrict__ raw,
          const float* __restrict__ delta, float* __restrict__ weights) {
  const int64_t r = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (r >= rays) return;
  const int lane = int(threadIdx.x) % 32, end = ray_begin[r + 1];
  int i = ray_begin[r] + lane;
  float next_raw = i < end ? raw[i] : 0, next_delta = i < end ? delta[i] : 0;
  float depth = 0, light = 1;  // up to the last 32
  for (int left = end - ray_begin[r]; left > 0; left -= 32, i += 32) {
    float sum = expf(next_raw) * next_delta;
    if (left > 32) {
      const bool more = lane + 32 < left;
      next_raw = more ? raw[i + 32] : 0;
      next_delta = more ? delta[i + 32] : 0;
    }
    for (int by = 1; by < 32; by *= 2) {
      const float lower = __shfl_up_sync(~0U, sum, by);
      if (lane >= by) sum += lower;
    }
    const float after = expf(-(depth + sum));
    const float lower = __shfl_up_sync(~0U, after, 1), before = lane == 0 ? light : lower;
    if (lane < left) weights[i] = before - after;
    depth += __shfl_sync(~0U, sum, 31);
    light = __shfl_sync(~0U, after, 31);
  }
}

void run(const SampleWeightsFwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(weigh, dim3(unsigned((x.shape.rays + kWarps - 1) / kWarps)), dim3(kThreads), 0, x.shape.rays,
               x.ray_begin, x.density_raw, x.delta, x.weights);
}

KLAB_VARIANT(SampleWeightsFwd, {.run = run,
                                .parent = "01_thread_per_ray",
                                .tiles = {32},
                                .expect = {.shape = {10752, 1 << 15}, .over_parent = 6}});

}  // namespace
}  // namespace klab
