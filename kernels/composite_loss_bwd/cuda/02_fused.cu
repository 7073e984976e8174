// composite_loss_bwd.cuda.02_fused: loss and gradient in one pass.
//
// CHANGE    d_raw = slope·<g, T·rgb + prefix - total> with prefix and total of w·rgb: only g and total wait
//           for the end of the ray. Lanes keep the vector T·rgb + prefix of their sample, its weight and its
//           slope; when the ray has ended the color is known, with it loss and g, and gradients are made from
//           registers. For longer rays all pieces except the last leave vector and weight in the outputs,
//           which have exactly four words a sample, and a second walk turns them into gradients.
// EXPECT    one launch in place of three; rays of up to 32 samples are read once and written once, 36 bytes a
//           sample where the parent moves 56, with half the exponentials. Three scans of colors for one of
//           the payload and three sums: ten shuffles less for 32 samples. At least 1.6 times the parent.
// NUMERICS  products and sums in tree order; colors are summed before g weighs them.
// NEEDS     nothing; a ray longer than a warp goes piece by piece.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;
constexpr float kStop = float(CompositeLossFwd::stop);

/// exp of a logarithm clamped to [-15, 15], which is the density clamped.
__device__ __forceinline__ float clamped(float sigma) {
  return fminf(fmaxf(sigma, 3.0590232e-7F), 3269017.4F);
}

/// Over this lane and those before it.
__device__ __forceinline__ float sum_up_to(float value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(kWarp, value, step);
    if (lane >= step) value += before;
  }
  return value;
}
__device__ __forceinline__ float product_up_to(float value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(kWarp, value, step);
    if (lane >= step) value *= before;
  }
  return value;
}

/// Warp r has ray r.
__global__ void __launch_bounds__(kThreads)
    loss_and_gradient(int64_t rays, int64_t samples, int kind, float turn,
                      const int32_t* __restrict__ ray_begin, const float* __restrict__ density_raw,
                      const float* __restrict__ rgb, const float* __restrict__ delta,
                      const float* __restrict__ background, const float* __restrict__ target,
                      const float* __restrict__ d_loss, float* __restrict__ loss,
                      float* __restrict__ d_density_raw, float* __restrict__ d_rgb) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t begin = ray_begin[r], end = ray_begin[r + 1];
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
    const float up_to = product_up_to(own, lane), before = __shfl_up_sync(kWarp, up_to, 1);
    const float behind = in_front * up_to;
    slope = clamped(sigma) * length;
    weight = (lane > 0 ? in_front * before : in_front) * (1 - own);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float channel = inside ? rgb[c * samples + i] : 0;
      const float prefix = total[c] + sum_up_to(weight * channel, lane);
      color_left[c] = behind * channel + prefix;
      total[c] = __shfl_sync(kWarp, prefix, 31);
    }
    in_front = __shfl_sync(kWarp, behind, 31);
  }

  const float share = d_loss[r] / 3;
  float sum = 0, g[3];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    total[c] += in_front * background[c * rays + r];
    const float e = total[c] - target[c * rays + r], s = fminf(fmaxf(e, -turn), turn);
    sum += kind == 0 ? e * e : s * (e - 0.5F * s);
    g[c] = share * (kind == 0 ? 2 * e : s);
  }
  if (lane == 0) loss[r] = sum * (1.0F / 3);

  const int64_t last = first - 32;  // the piece in registers; first == begin where the ray has no sample
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
  if (const int64_t i = last + lane; first > begin && i < end) {
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
}

void run(const CompositeLossBwd::Args<float>& x) {
  const auto [rays, samples, kind] = x.shape;
  if (rays == 0) return;
  const auto blocks = unsigned((32 * rays + kThreads - 1) / kThreads);
  cuda::launch(loss_and_gradient, dim3(blocks), dim3(kThreads), 0, rays, samples, int(kind),
               CompositeLossFwd::turn(kind), x.ray_begin, x.density_raw, x.rgb, x.delta, x.background,
               x.target, x.d_loss, x.loss, x.d_density_raw, x.d_rgb);
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "01_separate",
                                .forward = "01_warp_per_ray",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {32},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 1.6}});

}  // namespace
}  // namespace klab
