// distortion_fwd.cuda.01_warp_per_ray: one warp per ray, running sums by scans.
//
// CHANGE    distances ascend, so sum_{j<i} w_j·|t_i - t_j| = t_i·W - Z with W = sum w_j, Z = sum w_j·t_j of the
//           samples before i: two scans over the lanes of a warp, 32 samples at a time. Each pair counts twice.
// EXPECT    coalesced, read bandwidth when rays are many; rays shorter than a warp leave lanes idle.
// NUMERICS  t_i·W - Z cancels where a ray's samples lie close together far away: hence the magnitude of the contract.
//           Sums in tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/distortion_fwd/distortion_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;

/// Sum over this lane and those before it.
__device__ __forceinline__ float sum_up_to(float value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(kWarp, value, step);
    if (lane >= step) value += before;
  }
  return value;
}

#include "kernels/common/composite/04_warp_scan-inl.h"

__global__ void __launch_bounds__(kThreads)
    distortion(int64_t rays, const int32_t* __restrict__ ray_begin, const float* __restrict__ weights,
               const float* __restrict__ delta, const float* __restrict__ t, float* __restrict__ loss) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t end = ray_begin[r + 1];
  float sum = 0, W = 0, Z = 0;
  for (int64_t first = ray_begin[r]; first < end; first += 32) {
    // Lanes past the end have no weight. A sample may count itself among those before it: t·w - w·t = 0.
    const int64_t i = first + lane;
    const float w = i < end ? weights[i] : 0, z = i < end ? t[i] : 0, length = i < end ? delta[i] : 0;
    const float in_front = W + sum_up_to(w, lane), moment = Z + sum_up_to(w * z, lane);
    sum += 2 * w * (z * in_front - moment) + w * w * length * (1.0F / 3);
    W = __shfl_sync(kWarp, in_front, 31);
    Z = __shfl_sync(kWarp, moment, 31);
  }
  sum = sum_of(sum);
  if (lane == 0) loss[r] = sum;
}

void run(const DistortionFwd::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  if (rays == 0) return;
  cuda::launch(distortion, dim3(unsigned((32 * rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, rays,
               x.ray_begin, x.weights, x.delta, x.t, x.loss);
}

KLAB_VARIANT(DistortionFwd, {.run = run, .tiles = {32}, .was = {"01_warp_a_ray"}});

}  // namespace
}  // namespace klab
