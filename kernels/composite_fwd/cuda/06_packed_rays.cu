// composite_fwd.cuda.06_packed_rays: short rays share a warp, a lane a sample.
//
// CHANGE    a warp takes up to 32 rays. Whole rays that follow each other and have at most 32 samples together are
//           scanned at once; a lane finds its sample's ray by a binary search among the lanes, and no step of a
//           scan crosses the ray's begin. A ray of more samples goes as in the parent. Results end up in the lane
//           that owns the ray, so 32 rays are written in a row.
// EXPECT    at a mean of 3 samples a ray a tenth of the parent's lanes is busy; here nine of ten are. 36 shuffles
//           for 32 samples in place of 31 for 3. 1.5 times the parent at a mean of 8, nothing at a mean of 32;
//           and nothing where the launch is all, as for the 10,752 rays of a small batch.
// NUMERICS  as the parent.
// TRIED     see NOTES.md, cuda.06_packed_rays
#include "harness/core/registrar.h"
#include "kernels/common/composite/packed_rays.h"
#include "kernels/common/cuda.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

/// What a lane knows of its ray: transmittance behind it, and the sums.
struct Result {
  float in_front = 1, red = 0, green = 0, blue = 0, far = 0;
};

/// Sum over all lanes, in all lanes.
__device__ __forceinline__ float sum_of(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

/// A ray of more than 32 samples, by all lanes, piece by piece. The result is in all of them.
__device__ __forceinline__ Result long_ray(int64_t begin, int64_t end, int64_t samples,
                                           const float* __restrict__ density_raw,
                                           const float* __restrict__ rgb, const float* __restrict__ delta,
                                           const float* __restrict__ t) {
  const int lane = int(threadIdx.x) % kLanes;
  constexpr float kStop = float(CompositeFwd::stop);
  Result at;
  for (int64_t first = begin; first < end && at.in_front >= kStop; first += kLanes) {
    // Lanes past the end of the ray are clear: nothing is absorbed there and their weight is 0.
    const int64_t i = first + lane;
    const float own = i < end ? expf(-expf(density_raw[i]) * delta[i]) : 1;
    float up_to = own;  // product over this lane and those before it
    for (int step = 1; step < kLanes; step *= 2) {
      const float before = __shfl_up_sync(kAllLanes, up_to, step);
      if (lane >= step) up_to *= before;
    }
    const float before = __shfl_up_sync(kAllLanes, up_to, 1);
    const float transmittance = lane > 0 ? at.in_front * before : at.in_front;
    at.in_front *= __shfl_sync(kAllLanes, up_to, kLanes - 1);
    if (i >= end) continue;
    const float weight = transmittance * (1 - own);
    at.red += weight * rgb[i];
    at.green += weight * rgb[samples + i];
    at.blue += weight * rgb[2 * samples + i];
    at.far += weight * t[i];
  }
  at.red = sum_of(at.red), at.green = sum_of(at.green), at.blue = sum_of(at.blue), at.far = sum_of(at.far);
  return at;
}

__global__ void __launch_bounds__(kThreads)
    composite(int64_t rays, int64_t samples, int each, const int32_t* __restrict__ ray_begin,
              const float* __restrict__ density_raw, const float* __restrict__ rgb,
              const float* __restrict__ delta, const float* __restrict__ t,
              const float* __restrict__ background, float* __restrict__ color, float* __restrict__ opacity,
              float* __restrict__ depth) {
  const int lane = int(threadIdx.x) % kLanes;
  const WarpRays own_rays(rays, each, ray_begin);
  Result own;  // of the ray that the lane owns
  for (int from = 0, taken = 0; from < own_rays.count; from += taken) {
    taken = own_rays.fitting(from);
    if (taken == 0) {
      taken = 1;
      const Result found =
          long_ray(__shfl_sync(kAllLanes, own_rays.begin, from), __shfl_sync(kAllLanes, own_rays.end, from),
                   samples, density_raw, rgb, delta, t);
      if (lane == from) own = found;
      continue;
    }
    const RayPack pack(own_rays, from, from + taken);
    const int64_t i = pack.i;
    const float through = pack.inside ? expf(-expf(density_raw[i]) * delta[i]) : 1;
    const float up_to = pack.product_up_to(through);
    const float weight = pack.before(up_to, 1) * (1 - through);
    const bool mine = lane >= from && lane < from + taken;
    const float in_front = pack.at_end(up_to, 1);
    const float red = pack.at_end(pack.sum_up_to(pack.inside ? weight * rgb[i] : 0), 0);
    const float green = pack.at_end(pack.sum_up_to(pack.inside ? weight * rgb[samples + i] : 0), 0);
    const float blue = pack.at_end(pack.sum_up_to(pack.inside ? weight * rgb[2 * samples + i] : 0), 0);
    const float far = pack.at_end(pack.sum_up_to(pack.inside ? weight * t[i] : 0), 0);
    if (mine) own = {in_front, red, green, blue, far};
  }
  if (!own_rays.owner) return;
  const int64_t r = own_rays.first + lane;
  color[r] = own.red + own.in_front * background[r];
  color[rays + r] = own.green + own.in_front * background[rays + r];
  color[2 * rays + r] = own.blue + own.in_front * background[2 * rays + r];
  opacity[r] = 1 - own.in_front;
  depth[r] = own.far;
}

void run(const CompositeFwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  if (rays == 0) return;
  const int each = rays_of_a_warp(rays, samples);
  const int64_t of_a_block = int64_t(kThreads / kLanes) * each;
  cuda::launch(composite, dim3(unsigned((rays + of_a_block - 1) / of_a_block)), dim3(kThreads), 0, rays,
               samples, each, x.ray_begin, x.density_raw, x.rgb, x.delta, x.t, x.background, x.color,
               x.opacity, x.depth);
}

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "04_warp_scan",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {32},
                            .expect = {.shape = {1 << 15, 1 << 18}, .over_parent = 1.5},
                            .when = {{1 << 15, 1 << 18}, "short rays leave most lanes of a warp idle"}});

}  // namespace
}  // namespace klab
