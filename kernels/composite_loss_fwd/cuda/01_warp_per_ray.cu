// composite_loss_fwd.cuda.01_warp_per_ray: the wavefront, and a loss at its end.
//
// CHANGE    composite_fwd's warp scan: 32 samples of a ray at a time, products of transparencies by shuffles.
//           All lanes end up with the color, and the first writes the loss.
// EXPECT    20 bytes per sample in requests of 4 sectors, 5 where the samples of a ray begin between two; 4
//           bytes per ray written where composite_fwd and pixel_loss_fwd write 24 and read 12 of them again.
//           One launch in place of two.
// NUMERICS  transmittance is a product in tree order.
// NEEDS     nothing; a ray longer than a warp goes piece by piece.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;

#include "kernels/common/composite/04_warp_scan-inl.h"

/// Warp r has ray r.
__global__ void __launch_bounds__(kThreads)
    loss_of(int64_t rays, int64_t samples, int kind, float turn, const int32_t* __restrict__ ray_begin,
            const float* __restrict__ density_raw, const float* __restrict__ rgb,
            const float* __restrict__ delta, const float* __restrict__ background,
            const float* __restrict__ target, float* __restrict__ loss) {
  const int64_t r = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (r >= rays) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const int64_t end = ray_begin[r + 1];
  constexpr float kStop = float(CompositeLossFwd::stop);
  float in_front = 1;  // transmittance in front of this piece, the same in all lanes
  float color[3] = {};
  for (int64_t first = ray_begin[r]; first < end && in_front >= kStop; first += 32) {
    // Lanes past the end of the ray are clear: nothing is absorbed there and their weight is 0.
    const int64_t i = first + lane;
    const float own = i < end ? expf(-expf(density_raw[i]) * delta[i]) : 1;
    float up_to = own;  // product over this lane and those before it
    for (int step = 1; step < 32; step *= 2) {
      const float before = __shfl_up_sync(kWarp, up_to, step);
      if (lane >= step) up_to *= before;
    }
    const float before = __shfl_up_sync(kWarp, up_to, 1);
    const float transmittance = lane > 0 ? in_front * before : in_front;
    in_front *= __shfl_sync(kWarp, up_to, 31);
    if (i >= end) continue;
#pragma unroll
    for (int c = 0; c < 3; ++c) color[c] += transmittance * (1 - own) * rgb[c * samples + i];
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const float whole = sum_of(color[c]) + in_front * background[c * rays + r];
    const float e = fabsf(whole - target[c * rays + r]), s = fminf(e, turn);
    sum += kind == 0 ? e * e : s * (e - 0.5F * s);
  }
  if (lane == 0) loss[r] = sum * (1.0F / 3);
}

void run(const CompositeLossFwd::Args<float>& x) {
  const auto [rays, samples, kind] = x.shape;
  if (rays == 0) return;
  const auto blocks = unsigned((32 * rays + kThreads - 1) / kThreads);
  cuda::launch(loss_of, dim3(blocks), dim3(kThreads), 0, rays, samples, int(kind),
               CompositeLossFwd::turn(kind), x.ray_begin, x.density_raw, x.rgb, x.delta, x.background,
               x.target, x.loss);
}

KLAB_VARIANT(CompositeLossFwd,
             {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {32}, .was = {"01_warp_a_ray"}});

}  // namespace
}  // namespace klab
