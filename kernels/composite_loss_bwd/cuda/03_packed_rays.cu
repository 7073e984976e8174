// composite_loss_bwd.cuda.03_packed_rays: short rays share a warp, a lane a sample.
//
// CHANGE    as composite_fwd's 06 and composite_bwd's 03: whole rays that follow each other and have at most 32
//           samples together are scanned at once. A ray's color ends up in the lane that owns the ray; loss and
//           gradient of 32 rays are computed at once, and the gradient goes back to the samples by shuffles. A
//           ray of more samples goes as in the parent.
// EXPECT    at a mean of 3 samples a ray a tenth of the parent's lanes is busy; here nine of ten are, and the targets
//           of 32 rays are read in a row. 36 shuffles for 32 samples in place of 25 for 3. Twice the parent at that
//           mean; nothing at a mean of 32.
// NUMERICS  as the parent.
// TRIED     see NOTES.md, cuda.03_packed_rays
#include "harness/core/registrar.h"
#include "kernels/common/composite/packed_rays.h"
#include "kernels/common/cuda.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr float kStop = float(CompositeLossFwd::stop);

/// exp of a logarithm clamped to [-15, 15], which is the density clamped.
__device__ __forceinline__ float clamped(float sigma) {
  return fminf(fmaxf(sigma, 3.0590232e-7F), 3269017.4F);
}

/// Over this lane and those before it.
__device__ __forceinline__ float sum_up_to(float value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(kAllLanes, value, step);
    if (lane >= step) value += before;
  }
  return value;
}
__device__ __forceinline__ float product_up_to(float value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(kAllLanes, value, step);
    if (lane >= step) value *= before;
  }
  return value;
}

/// A ray's part of the loss: what is behind it, what should be seen, and a third of the gradient of its loss.
struct RayLoss {
  float background[3], target[3], share, turn;
  int kind;
};

/// Adds the background to the sums of a ray's colors, and returns its loss and the gradient g of its color.
__device__ __forceinline__ float loss_of(const RayLoss& at, float in_front, float (&total)[3],
                                         float (&g)[3]) {
  float sum = 0;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    total[c] += in_front * at.background[c];
    const float e = total[c] - at.target[c], s = fminf(fmaxf(e, -at.turn), at.turn);
    sum += at.kind == 0 ? e * e : s * (e - 0.5F * s);
    g[c] = at.share * (at.kind == 0 ? 2 * e : s);
  }
  return sum * (1.0F / 3);
}

/// A ray of more than 32 samples, by all lanes, piece by piece. Returns its loss.
__device__ __forceinline__ float long_ray(const RayLoss& at, int64_t begin, int64_t end, int64_t samples,
                                          const float* __restrict__ density_raw,
                                          const float* __restrict__ rgb, const float* __restrict__ delta,
                                          float* __restrict__ d_density_raw, float* __restrict__ d_rgb) {
  const int lane = int(threadIdx.x) % kLanes;
  float in_front = 1, total[3] = {};                // transmittance and color in front of these 32 samples
  float slope = 0, weight = 0, color_left[3] = {};  // of this lane's sample among the last 32 walked
  int64_t first = begin;
  for (; first < end && in_front >= kStop; first += 32) {
    const int64_t i = first + lane;
    if (first > begin) {  // the piece before was not the last
      d_density_raw[i - 32] = weight;
#pragma unroll
      for (int c = 0; c < 3; ++c) d_rgb[c * samples + i - 32] = color_left[c];
    }
    // Lanes past the end of the ray are clear: nothing is absorbed there and their weight is 0.
    const bool inside = i < end;
    const float length = inside ? delta[i] : 0, sigma = inside ? expf(density_raw[i]) : 0;
    const float own = expf(-sigma * length);
    const float up_to = product_up_to(own, lane), before = __shfl_up_sync(kAllLanes, up_to, 1);
    const float behind = in_front * up_to;
    slope = clamped(sigma) * length;
    weight = (lane > 0 ? in_front * before : in_front) * (1 - own);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float channel = inside ? rgb[c * samples + i] : 0;
      const float prefix = total[c] + sum_up_to(weight * channel, lane);
      color_left[c] = behind * channel + prefix;
      total[c] = __shfl_sync(kAllLanes, prefix, 31);
    }
    in_front = __shfl_sync(kAllLanes, behind, 31);
  }

  float g[3];
  const float of_the_ray = loss_of(at, in_front, total, g);

  const int64_t last = first - 32;  // the piece in registers
  for (int64_t i = begin + lane; i < last; i += 32) {
    const float kept = d_density_raw[i], steep = clamped(expf(density_raw[i])) * delta[i];
    float along = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      along += g[c] * (d_rgb[c * samples + i] - total[c]);
      d_rgb[c * samples + i] = kept * g[c];
    }
    d_density_raw[i] = steep * along;
  }
  if (const int64_t i = last + lane; i < end) {
    float along = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      along += g[c] * (color_left[c] - total[c]);
      d_rgb[c * samples + i] = weight * g[c];
    }
    d_density_raw[i] = slope * along;
  }
  for (int64_t i = first + lane; i < end; i += 32) {  // behind the stop
    d_density_raw[i] = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) d_rgb[c * samples + i] = 0;
  }
  return of_the_ray;
}

__global__ void __launch_bounds__(kThreads)
    loss_and_gradient(int64_t rays, int64_t samples, int each, int kind, float turn,
                      const int32_t* __restrict__ ray_begin, const float* __restrict__ density_raw,
                      const float* __restrict__ rgb, const float* __restrict__ delta,
                      const float* __restrict__ background, const float* __restrict__ target,
                      const float* __restrict__ d_loss, float* __restrict__ loss,
                      float* __restrict__ d_density_raw, float* __restrict__ d_rgb) {
  const int lane = int(threadIdx.x) % kLanes;
  const WarpRays own_rays(rays, each, ray_begin);
  RayLoss own = {.turn = turn, .kind = kind};  // of the ray that the lane owns
  const int64_t r = own_rays.first + lane;
  if (own_rays.owner) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      own.background[c] = background[c * rays + r];
      own.target[c] = target[c * rays + r];
    }
    own.share = d_loss[r] / 3;
  }
  float own_loss = 0;
  for (int from = 0, taken = 0; from < own_rays.count; from += taken) {
    taken = own_rays.fitting(from);
    if (taken == 0) {
      taken = 1;
      const auto of_ray = [from](auto value) { return __shfl_sync(kAllLanes, value, from); };
      RayLoss at = {.share = of_ray(own.share), .turn = turn, .kind = kind};
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        at.background[c] = of_ray(own.background[c]);
        at.target[c] = of_ray(own.target[c]);
      }
      const int begin = of_ray(own_rays.begin), end = of_ray(own_rays.end);
      const float found = long_ray(at, begin, end, samples, density_raw, rgb, delta, d_density_raw, d_rgb);
      if (lane == from) own_loss = found;
      continue;
    }
    const RayPack pack(own_rays, from, from + taken);
    const int64_t i = pack.i;
    const float length = pack.inside ? delta[i] : 0, sigma = pack.inside ? expf(density_raw[i]) : 0;
    const float through = expf(-sigma * length);
    const float behind = pack.product_up_to(through);
    const float weight = pack.before(behind, 1) * (1 - through);
    float color_left[3], total[3], g[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float channel = pack.inside ? rgb[c * samples + i] : 0;
      const float prefix = pack.sum_up_to(weight * channel);
      color_left[c] = behind * channel + prefix;
      total[c] = pack.at_end(prefix, 0);
    }
    const float found = loss_of(own, pack.at_end(behind, 1), total, g);
    if (lane >= from && lane < from + taken) own_loss = found;
    float along = 0, d_color[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      d_color[c] = pack.of_ray(g[c]);
      along += d_color[c] * (color_left[c] - pack.of_ray(total[c]));
    }
    if (!pack.inside) continue;
    d_density_raw[i] = clamped(sigma) * length * along;
#pragma unroll
    for (int c = 0; c < 3; ++c) d_rgb[c * samples + i] = weight * d_color[c];
  }
  if (own_rays.owner) loss[r] = own_loss;
}

void run(const CompositeLossBwd::Args<float>& x) {
  const auto [rays, samples, kind] = x.shape;
  if (rays == 0) return;
  const int each = rays_of_a_warp(rays, samples);
  const int64_t of_a_block = int64_t(kThreads / kLanes) * each;
  cuda::launch(loss_and_gradient, dim3(unsigned((rays + of_a_block - 1) / of_a_block)), dim3(kThreads), 0,
               rays, samples, each, int(kind), CompositeLossFwd::turn(kind), x.ray_begin, x.density_raw,
               x.rgb, x.delta, x.background, x.target, x.d_loss, x.loss, x.d_density_raw, x.d_rgb);
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "02_fused",
                                .forward = "01_warp_per_ray",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {32},
                                .expect = {.shape = {10752, 1 << 15, 1}, .over_parent = 1.5},
                                .when = {{10752, 1 << 15, 1}, "a trained grid leaves a ray some 3 samples"}});

}  // namespace
}  // namespace klab
