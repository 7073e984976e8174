// composite_fwd.cuda.01_serial: one thread per ray, sample by sample.
//
// CHANGE    the naive loop of each ray in its own thread; a thread stops once less than 1e-4 of the light
//           gets through.
// EXPECT    lanes of a warp read samples of 32 rays, 32 places: 32 sectors/request where 4 would do. The warp
//           continues until its longest ray ends; ray lengths differ enough that half the lanes wait. Each
//           sample waits for its own loads.
// NUMERICS  one rounding a operation in sample order; transmittance is a running product.
// SASS      LDG STG; no LDS STS SHFL LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    composite(int64_t rays, int64_t samples, const int32_t* __restrict__ ray_begin,
              const float* __restrict__ density_raw, const float* __restrict__ rgb,
              const float* __restrict__ delta, const float* __restrict__ t,
              const float* __restrict__ background, float* __restrict__ color, float* __restrict__ opacity,
              float* __restrict__ depth) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rays) return;
  constexpr float kStop = float(CompositeFwd::stop);
  float transmittance = 1, red = 0, green = 0, blue = 0, opaque = 0, far = 0;
  for (int64_t i = ray_begin[r], end = ray_begin[r + 1]; i < end && transmittance >= kStop; ++i) {
    const float through = expf(-expf(density_raw[i]) * delta[i]);
    const float weight = transmittance * (1 - through);
    red += weight * rgb[i];
    green += weight * rgb[samples + i];
    blue += weight * rgb[2 * samples + i];
    opaque += weight;
    far += weight * t[i];
    transmittance *= through;
  }
  color[r] = red + transmittance * background[r];
  color[rays + r] = green + transmittance * background[rays + r];
  color[2 * rays + r] = blue + transmittance * background[2 * rays + r];
  opacity[r] = opaque;
  depth[r] = far;
}

void run(const CompositeFwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  const auto blocks = unsigned((x.shape.rays + kThreads - 1) / kThreads);
  cuda::launch(composite, dim3(blocks), dim3(kThreads), 0, x.shape.rays, x.shape.samples, x.ray_begin,
               x.density_raw, x.rgb, x.delta, x.t, x.background, x.color, x.opacity, x.depth);
}

KLAB_VARIANT(CompositeFwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
