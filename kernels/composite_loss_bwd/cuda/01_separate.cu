// composite_loss_bwd.cuda.01_separate: three kernels, each with one warp per ray or one thread per ray.
//
// CHANGE    the naive way: a kernel for the colors, one for losses and gradients of the colors, one for the
//           backward. Colors, and then their gradients, pass through memory.
// EXPECT    a sample's 20 bytes are read twice, 40 bytes where 20 are compulsory, and its two exponentials
//           taken twice. 24 bytes per ray are written and read again, and there are three launches, which
//           matter for a training step's few thousand rays.
// NUMERICS  products and sums in tree order.
// NEEDS     12 bytes per ray in between; a ray longer than a warp goes piece by piece.
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

/// Sum over all lanes, in all lanes.
__device__ __forceinline__ float sum_of(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kWarp, value, step);
  return value;
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
    composite(int64_t rays, int64_t samples, const int32_t* __restrict__ ray_begin,
              const float* __restrict__ density_raw, const float* __restrict__ rgb,
              const float* __restrict__ delta, const float* __restrict__ background,
              float* __restrict__ color) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t end = ray_begin[r + 1];
  float in_front = 1;  // transmittance in front of this piece, the same in all lanes
  float sum[3] = {};
  for (int64_t first = ray_begin[r]; first < end && in_front >= kStop; first += 32) {
    // Lanes past the end of the ray are clear: nothing is absorbed there and their weight is 0.
    const int64_t i = first + lane;
    const float own = i < end ? expf(-expf(density_raw[i]) * delta[i]) : 1;
    const float up_to = product_up_to(own, lane), before = __shfl_up_sync(kWarp, up_to, 1);
    const float weight = (lane > 0 ? in_front * before : in_front) * (1 - own);
    in_front *= __shfl_sync(kWarp, up_to, 31);
    if (i >= end) continue;
#pragma unroll
    for (int c = 0; c < 3; ++c) sum[c] += weight * rgb[c * samples + i];
  }
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const float whole = sum_of(sum[c]);
    if (lane == 0) color[c * rays + r] = whole + in_front * background[c * rays + r];
  }
}

/// Thread r has ray r. Its color becomes the gradient of its color.
__global__ void __launch_bounds__(kThreads)
    losses(int64_t rays, int kind, float turn, const float* __restrict__ target,
           const float* __restrict__ d_loss, float* __restrict__ color, float* __restrict__ loss) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rays) return;
  const float share = d_loss[r] / 3;
  float sum = 0;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const float e = color[c * rays + r] - target[c * rays + r], s = fminf(fmaxf(e, -turn), turn);
    sum += kind == 0 ? e * e : s * (e - 0.5F * s);
    color[c * rays + r] = share * (kind == 0 ? 2 * e : s);
  }
  loss[r] = sum * (1.0F / 3);
}

/// Warp r has ray r. d_raw = slope·(T·p + prefix) - slope·total: the first term goes to the output on the
/// way. The last 32 samples wait in registers.
__global__ void __launch_bounds__(kThreads)
    backward(int64_t rays, int64_t samples, const int32_t* __restrict__ ray_begin,
             const float* __restrict__ density_raw, const float* __restrict__ rgb,
             const float* __restrict__ delta, const float* __restrict__ background,
             const float* __restrict__ d_color, float* __restrict__ d_density_raw,
             float* __restrict__ d_rgb) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t begin = ray_begin[r], end = ray_begin[r + 1];
  const float g[3] = {d_color[r], d_color[rays + r], d_color[2 * rays + r]};
  float in_front = 1, passed = 0;   // transmittance, and sum of weight·payload, in front of these 32 samples
  float slope = 0, first_term = 0;  // of this lane's sample among the last 32 walked
  int64_t first = begin;
  for (; first < end && in_front >= kStop; first += 32) {
    const int64_t i = first + lane;
    if (first > begin) d_density_raw[i - 32] = first_term;  // the piece before was not the last
    const bool inside = i < end;
    const float length = inside ? delta[i] : 0, sigma = inside ? expf(density_raw[i]) : 0;
    const float own = expf(-sigma * length);
    const float up_to = product_up_to(own, lane), before = __shfl_up_sync(kWarp, up_to, 1);
    const float weight = (lane > 0 ? in_front * before : in_front) * (1 - own), behind = in_front * up_to;
    const float payload = inside ? g[0] * rgb[i] + g[1] * rgb[samples + i] + g[2] * rgb[2 * samples + i] : 0;
    const float prefix = passed + sum_up_to(weight * payload, lane);
    slope = clamped(sigma) * length;
    first_term = slope * (behind * payload + prefix);
    passed = __shfl_sync(kWarp, prefix, 31);
    in_front = __shfl_sync(kWarp, behind, 31);
    if (!inside) continue;
#pragma unroll
    for (int c = 0; c < 3; ++c) d_rgb[c * samples + i] = weight * g[c];
  }
  const float total = passed + in_front * (g[0] * background[r] + g[1] * background[rays + r] +
                                           g[2] * background[2 * rays + r]);
  const int64_t last = first - 32;  // the piece in registers; first == begin where the ray has no sample
  for (int64_t i = begin + lane; i < last; i += 32)
    d_density_raw[i] -= clamped(expf(density_raw[i])) * delta[i] * total;
  if (first > begin && last + lane < end) d_density_raw[last + lane] = first_term - slope * total;
  for (int64_t i = first + lane; i < end; i += 32) {  // behind the stop
    d_density_raw[i] = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) d_rgb[c * samples + i] = 0;
  }
}

unsigned blocks_for(int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); }

void run(const CompositeLossBwd::Args<float>& x) {
  const auto [rays, samples, kind] = x.shape;
  if (rays == 0) return;
  const cuda::Scratch scratch(3 * sizeof(float) * size_t(rays));
  auto* color = scratch.as<float>();
  cuda::launch(composite, blocks_for(32 * rays), kThreads, 0, rays, samples, x.ray_begin, x.density_raw,
               x.rgb, x.delta, x.background, color);
  cuda::launch(losses, blocks_for(rays), kThreads, 0, rays, int(kind), CompositeLossFwd::turn(kind), x.target,
               x.d_loss, color, x.loss);
  cuda::launch(backward, blocks_for(32 * rays), kThreads, 0, rays, samples, x.ray_begin, x.density_raw, x.rgb,
               x.delta, x.background, color, x.d_density_raw, x.d_rgb);
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .forward = "01_warp_per_ray",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
