// composite_bwd.cuda.03_packed_rays: short rays share a warp, a lane a sample.
//
// CHANGE    as the forward's 06: whole rays that follow each other and have at most 32 samples together are scanned
//           at once. The total that a gradient waits for is in the lane that owns the ray, and comes back by a
//           shuffle. A ray of more samples goes as in the parent.
// EXPECT    at a mean of 3 samples a ray a tenth of the parent's lanes is busy; here nine of ten are. 24 shuffles for
//           32 samples in place of 13 for 3. 1.5 times the parent at a mean of 8, nothing at a mean of 32.
// NUMERICS  as the parent.
// TRIED     see NOTES.md, cuda.03_packed_rays
#include "harness/core/registrar.h"
#include "kernels/common/composite/packed_rays.h"
#include "kernels/common/cuda.h"
#include "reference/composite_bwd/composite_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

/// exp of a logarithm clamped to [-15, 15], which is the density clamped.
__device__ __forceinline__ float clamped(float sigma) {
  return fminf(fmaxf(sigma, 3.0590232e-7F), 3269017.4F);
}

/// The gradients that arrive at a ray. `behind` is that of its transmittance.
struct Given {
  float red, green, blue, far, behind;
};

/// A ray of more than 32 samples, by all lanes, piece by piece.
__device__ __forceinline__ void long_ray(const Given& given, int64_t begin, int64_t end, int64_t samples,
                                         const float* __restrict__ density_raw, const float* __restrict__ rgb,
                                         const float* __restrict__ delta, const float* __restrict__ t,
                                         float* __restrict__ d_density_raw, float* __restrict__ d_rgb) {
  const int lane = int(threadIdx.x) % kLanes;
  constexpr float kStop = float(CompositeFwd::stop);
  float in_front = 1, passed = 0;   // transmittance, and sum of weight·payload, in front of these 32 samples
  float slope = 0, first_term = 0;  // of this lane's sample among the last 32 walked
  int64_t first = begin;
  for (; first < end && in_front >= kStop; first += kLanes) {
    const int64_t i = first + lane;
    if (first > begin) d_density_raw[i - kLanes] = first_term;  // the piece before was not the last
    // Lanes past the end of the ray are clear: nothing is absorbed there and their weight is 0.
    const bool inside = i < end;
    const float length = inside ? delta[i] : 0, sigma = inside ? expf(density_raw[i]) : 0;
    const float through = expf(-sigma * length);
    float up_to = through;  // product over this lane and those before it
    for (int step = 1; step < kLanes; step *= 2) {
      const float before = __shfl_up_sync(kAllLanes, up_to, step);
      if (lane >= step) up_to *= before;
    }
    const float before = __shfl_up_sync(kAllLanes, up_to, 1);
    const float weight = (lane > 0 ? in_front * before : in_front) * (1 - through);
    const float behind = in_front * up_to;
    const float payload = inside ? given.red * rgb[i] + given.green * rgb[samples + i] +
                                       given.blue * rgb[2 * samples + i] + given.far * t[i]
                                 : 0;
    float prefix = weight * payload;  // over this lane and those before it
    for (int step = 1; step < kLanes; step *= 2) {
      const float before_it = __shfl_up_sync(kAllLanes, prefix, step);
      if (lane >= step) prefix += before_it;
    }
    prefix += passed;
    slope = clamped(sigma) * length;
    first_term = slope * (behind * payload + prefix);
    passed = __shfl_sync(kAllLanes, prefix, kLanes - 1);
    in_front = __shfl_sync(kAllLanes, behind, kLanes - 1);
    if (!inside) continue;
    d_rgb[i] = weight * given.red;
    d_rgb[samples + i] = weight * given.green;
    d_rgb[2 * samples + i] = weight * given.blue;
  }
  const float total = passed + in_front * given.behind;
  const int64_t last = first - kLanes;  // the piece in registers
  for (int64_t i = begin + lane; i < last; i += kLanes)
    d_density_raw[i] -= clamped(expf(density_raw[i])) * delta[i] * total;
  if (last + lane < end) d_density_raw[last + lane] = first_term - slope * total;
  for (int64_t i = first + lane; i < end; i += kLanes) {  // behind the stop
    d_density_raw[i] = 0;
    for (int c = 0; c < 3; ++c) d_rgb[c * samples + i] = 0;
  }
}

__global__ void __launch_bounds__(kThreads)
    backward(int64_t rays, int64_t samples, int each, const int32_t* __restrict__ ray_begin,
             const float* __restrict__ density_raw, const float* __restrict__ rgb,
             const float* __restrict__ delta, const float* __restrict__ t,
             const float* __restrict__ background, const float* __restrict__ d_color,
             const float* __restrict__ d_opacity, const float* __restrict__ d_depth,
             float* __restrict__ d_density_raw, float* __restrict__ d_rgb) {
  const WarpRays own_rays(rays, each, ray_begin);
  Given own = {};  // of the ray that the lane owns
  if (own_rays.owner) {
    const int64_t r = own_rays.first + int(threadIdx.x) % kLanes;
    own = {d_color[r], d_color[rays + r], d_color[2 * rays + r], d_depth[r], 0};
    own.behind = own.red * background[r] + own.green * background[rays + r] +
                 own.blue * background[2 * rays + r] - d_opacity[r];
  }
  for (int from = 0, taken = 0; from < own_rays.count; from += taken) {
    taken = own_rays.fitting(from);
    if (taken == 0) {
      taken = 1;
      const auto of_ray = [from](auto value) { return __shfl_sync(kAllLanes, value, from); };
      const Given given = {of_ray(own.red), of_ray(own.green), of_ray(own.blue), of_ray(own.far),
                           of_ray(own.behind)};
      const int begin = of_ray(own_rays.begin), end = of_ray(own_rays.end);
      long_ray(given, begin, end, samples, density_raw, rgb, delta, t, d_density_raw, d_rgb);
      continue;
    }
    const RayPack pack(own_rays, from, from + taken);
    const int64_t i = pack.i;
    const float length = pack.inside ? delta[i] : 0, sigma = pack.inside ? expf(density_raw[i]) : 0;
    const float through = expf(-sigma * length);
    const float behind = pack.product_up_to(through);
    const float weight = pack.before(behind, 1) * (1 - through);
    const float red = pack.of_ray(own.red), green = pack.of_ray(own.green), blue = pack.of_ray(own.blue),
                far = pack.of_ray(own.far);
    const float payload =
        pack.inside ? red * rgb[i] + green * rgb[samples + i] + blue * rgb[2 * samples + i] + far * t[i] : 0;
    const float prefix = pack.sum_up_to(weight * payload);
    const float all = pack.at_end(prefix, 0) + pack.at_end(behind, 1) * own.behind;
    const float total = pack.of_ray(all);
    if (!pack.inside) continue;
    d_density_raw[i] = clamped(sigma) * length * (behind * payload + prefix - total);
    d_rgb[i] = weight * red;
    d_rgb[samples + i] = weight * green;
    d_rgb[2 * samples + i] = weight * blue;
  }
}

void run(const CompositeBwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  if (rays == 0) return;
  const int each = rays_of_a_warp(rays, samples);
  const int64_t of_a_block = int64_t(kThreads / kLanes) * each;
  cuda::launch(backward, dim3(unsigned((rays + of_a_block - 1) / of_a_block)), dim3(kThreads), 0, rays,
               samples, each, x.ray_begin, x.density_raw, x.rgb, x.delta, x.t, x.background, x.d_color,
               x.d_opacity, x.d_depth, x.d_density_raw, x.d_rgb);
}

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "02_warp_scan",
                            .forward = "06_packed_rays",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {32},
                            .expect = {.shape = {1 << 15, 1 << 18}, .over_parent = 1.5},
                            .when = {{1 << 15, 1 << 18}, "short rays leave most lanes of a warp idle"}});

}  // namespace
}  // namespace klab
