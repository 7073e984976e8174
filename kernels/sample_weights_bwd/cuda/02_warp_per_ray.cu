// sample_weights_bwd.cuda.02_warp_per_ray: 32 samples of a ray at a time, there and back.
//
// CHANGE    a warp has a ray. There, each lane adds up every 32nd optical depth. Back, lanes take neighboring samples: one scan
//           by shuffles for the depth in front of each, another for what lies behind it; the next 32 are loaded before that.
// EXPECT    the longest ray's chain is a 32nd as long, and a step of it longer by 20 shuffles: an eighth of the parent's
//           time at rays of thousands of samples.
// NUMERICS  depths and their sums in double, so that they can be walked back; the rest in float, sums of 32 in a tree.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__global__ void __launch_bounds__(kThreads)
    weigh_back(int64_t rays, const int32_t* __restrict__ ray_begin, const float* __restrict__ raw,
               const float* __restrict__ delta, const float* __restrict__ d_weights,
               float* __restrict__ d_density_raw) {
  const int64_t r = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (r >= rays) return;
  const int lane = int(threadIdx.x) % 32, begin = ray_begin[r], n = ray_begin[r + 1] - begin;
  if (n == 0) return;
  double depth = 0;
#pragma unroll 4
  for (int i = begin + lane; i < begin + n; i += 32) depth += double(expf(raw[i]) * delta[i]);
  for (int by = 16; by > 0; by /= 2) depth += __shfl_xor_sync(~0U, depth, by);
  // From the back: the optical depth in front of 32 samples is that behind them less their own.
  float behind = 0, light = expf(-float(depth));
  int i = begin + (n - 1) / 32 * 32 + lane;
  bool mine = i < begin + n;
  float next_raw = mine ? raw[i] : 0, next_delta = mine ? delta[i] : 0, next_g = mine ? d_weights[i] : 0;
  for (; i >= begin; i -= 32) {
    const float own_raw = next_raw, own_delta = next_delta, g = next_g;
    const bool writes = mine;
    if (i - 32 >= begin) {
      mine = true;
      next_raw = raw[i - 32], next_delta = delta[i - 32], next_g = d_weights[i - 32];
    }
    double sum = double(expf(own_raw) * own_delta);
    for (int by = 1; by < 32; by *= 2) {
      const double lower = __shfl_up_sync(~0U, sum, by);
      if (lane >= by) sum += lower;
    }
    depth -= __shfl_sync(~0U, sum, 31);
    const float after = lane == 31 ? light : expf(-float(depth + sum));
    const float lower = __shfl_up_sync(~0U, after, 1), first = expf(-float(depth));
    const float before = lane == 0 ? first : lower;
    const float own = writes ? (before - after) * g : 0;
    float from_here = own;  // to the last of the 32
    for (int by = 1; by < 32; by *= 2) {
      const float higher = __shfl_down_sync(~0U, from_here, by);
      if (lane + by < 32) from_here += higher;
    }
    const float rest = __shfl_down_sync(~0U, from_here, 1);
    const float slope = expf(fminf(fmaxf(own_raw, -15.0F), 15.0F)) * own_delta;
    if (writes) d_density_raw[i] += slope * (after * g - (behind + (lane == 31 ? 0 : rest)));
    behind += __shfl_sync(~0U, from_here, 0);
    light = first;
  }
}

void run(const SampleWeightsBwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(weigh_back, dim3(unsigned((x.shape.rays + kWarps - 1) / kWarps)), dim3(kThreads), 0,
               x.shape.rays, x.ray_begin, x.density_raw, x.delta, x.d_weights, x.d_density_raw);
}

KLAB_VARIANT(SampleWeightsBwd, {.run = run,
                                .parent = "01_thread_per_ray",
                                .forward = "02_warp_per_ray",
                                .tiles = {32},
                                .expect = {.shape = {10752, 1 << 15}, .over_parent = 6}});

}  // namespace
}  // namespace klab
