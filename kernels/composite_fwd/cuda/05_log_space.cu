// composite_fwd.cuda.05_log_space: sum optical depths, then one fast exponential.
//
// CHANGE    T = exp(-prefix sum of tau): the scan adds; the second exponential is the hardware's, whose error grows
//           with its argument as the bound of T does. A weight is the difference of two neighboring transmittances.
// EXPECT    a little: two or three instructions less an exponential, and the load of density and delta leads to the
//           scan through one exponential instead of two. Expect at most 1.1 times.
// NUMERICS  relative error of T grows with the optical depth, where T itself falls faster; weights are differences,
//           so small ones keep an absolute error of a few u. The density, whose logarithm may be large, has the exact
//           exponential.
// NEEDS     nothing; a ray longer than a warp goes piece by piece.
// TRIED     see NOTES.md, cuda.05_log_space
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;

#include "kernels/common/composite/04_warp_scan-inl.h"

/// Warp r has ray r.
__global__ void __launch_bounds__(kThreads)
    composite(int64_t rays, int64_t samples, const int32_t* __restrict__ ray_begin,
              const float* __restrict__ density_raw, const float* __restrict__ rgb,
              const float* __restrict__ delta, const float* __restrict__ t,
              const float* __restrict__ background, float* __restrict__ color, float* __restrict__ opacity,
              float* __restrict__ depth) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t end = ray_begin[r + 1];
  constexpr float kStop = float(CompositeFwd::stop);
  float in_front = 1;       // transmittance in front of this piece, the same in all lanes
  float optical_depth = 0;  // the same as a sum: in_front = exp(-optical_depth)
  float red = 0, green = 0, blue = 0, far = 0;
  for (int64_t first = ray_begin[r]; first < end && in_front >= kStop; first += 32) {
    // Lanes past the end of the ray are clear: nothing is absorbed there and their weight is 0.
    const int64_t i = first + lane;
    float sum = i < end ? expf(density_raw[i]) * delta[i] : 0;  // over this lane and those before it
    for (int step = 1; step < 32; step *= 2) {
      const float before = __shfl_up_sync(kWarp, sum, step);
      if (lane >= step) sum += before;
    }
    sum += optical_depth;
    const float behind = __expf(-sum);
    const float before = __shfl_up_sync(kWarp, behind, 1);
    const float weight = (lane > 0 ? before : in_front) - behind;
    optical_depth = __shfl_sync(kWarp, sum, 31);
    in_front = __shfl_sync(kWarp, behind, 31);
    if (i >= end) continue;
    red += weight * rgb[i];
    green += weight * rgb[samples + i];
    blue += weight * rgb[2 * samples + i];
    far += weight * t[i];
  }
  red = sum_of(red), green = sum_of(green), blue = sum_of(blue), far = sum_of(far);
  if (lane > 0) return;
  color[r] = red + in_front * background[r];
  color[rays + r] = green + in_front * background[rays + r];
  color[2 * rays + r] = blue + in_front * background[2 * rays + r];
  opacity[r] = 1 - in_front;
  depth[r] = far;
}

void run(const CompositeFwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  const auto blocks = unsigned((32 * x.shape.rays + kThreads - 1) / kThreads);
  cuda::launch(composite, dim3(blocks), dim3(kThreads), 0, x.shape.rays, x.shape.samples, x.ray_begin,
               x.density_raw, x.rgb, x.delta, x.t, x.background, x.color, x.opacity, x.depth);
}

KLAB_VARIANT(CompositeFwd,
             {.run = run,
              .parent = "04_warp_scan",
              .numerics = {.growth = Growth::linear},
              .tiles = {32},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.02},
              .when = {{8192, 1 << 18}, "instructions of an exponential, which no count shows"}});

}  // namespace
}  // namespace klab
