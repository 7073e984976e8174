// distortion_bwd.cuda.01_warp_per_ray: one warp per ray, running sums by scans.
//
// CHANGE    sum_j w_j·|t_i - t_j| = t_i·(W - W') - (Z - Z') with W, Z over the samples before i and W', Z'
//           over those behind it, which are the ray's totals minus the sums so far: a first walk for the
//           totals, a second with two scans.
// EXPECT    coalesced; the second walk finds the ray in L1. Rays shorter than a warp leave lanes idle.
// NUMERICS  differences of sums in tree order; the magnitude of the contract is that of their terms.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/distortion_bwd/distortion_bwd.h"

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
    gradient_of(int64_t rays, const int32_t* __restrict__ ray_begin, const float* __restrict__ weights,
                const float* __restrict__ delta, const float* __restrict__ t,
                const float* __restrict__ d_loss, float* __restrict__ d_weights) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t begin = ray_begin[r], end = ray_begin[r + 1];
  float all_W = 0, all_Z = 0;
  for (int64_t i = begin + lane; i < end; i += 32) {
    all_W += weights[i];
    all_Z += weights[i] * t[i];
  }
  all_W = sum_of(all_W);
  all_Z = sum_of(all_Z);
  float W = 0, Z = 0;  // of the samples before these 32
  for (int64_t first = begin; first < end; first += 32) {
    const int64_t i = first + lane;
    const float w = i < end ? weights[i] : 0, z = i < end ? t[i] : 0;
    const float up_to_W = W + sum_up_to(w, lane), up_to_Z = Z + sum_up_to(w * z, lane);
    // Before i less behind i, i itself on both sides: its t·w - w·t is 0.
    const float pairs = z * (up_to_W - (all_W - up_to_W + w)) - (up_to_Z - (all_Z - up_to_Z + w * z));
    if (i < end) d_weights[i] = 2 * d_loss[r] * (pairs + w * delta[i] * (1.0F / 3));
    W = __shfl_sync(kWarp, up_to_W, 31);
    Z = __shfl_sync(kWarp, up_to_Z, 31);
  }
}

void run(const DistortionBwd::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  if (rays == 0) return;
  cuda::launch(gradient_of, dim3(unsigned((32 * rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, rays,
               x.ray_begin, x.weights, x.delta, x.t, x.d_loss, x.d_weights);
}

KLAB_VARIANT(DistortionBwd, {.run = run, .tiles = {32}, .was = {"01_warp_a_ray"}});

}  // namespace
}  // namespace klab
