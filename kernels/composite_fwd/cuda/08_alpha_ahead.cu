// composite_fwd.cuda.08_alpha_ahead: 01_serial with the transparencies of eight samples computed first.
//
// CHANGE    a thread computes the transparencies of its next eight samples into registers, then multiplies them one by
//           one. Threads, loads and products are those of the parent: no shared memory, no other order.
// EXPECT    the loads and exponentials of eight samples are independent of each other and in flight at once, where the
//           parent may have to stop before each. A claim says 1.5 to 2; at least 1.3 times as fast.
// NUMERICS  as the parent.
// SASS      LDG STG; no LDS STS SHFL LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kAhead = 8;

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
  const int64_t end = ray_begin[r + 1];
  for (int64_t first = ray_begin[r]; first < end && transmittance >= kStop; first += kAhead) {
    float through[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      through[k] = first + k < end ? expf(-expf(density_raw[first + k]) * delta[first + k]) : 1;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int64_t i = first + k;
      if (i >= end || transmittance < kStop) continue;
      const float weight = transmittance * (1 - through[k]);
      red += weight * rgb[i];
      green += weight * rgb[samples + i];
      blue += weight * rgb[2 * samples + i];
      opaque += weight;
      far += weight * t[i];
      transmittance *= through[k];
    }
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

KLAB_VARIANT(CompositeFwd,
             {.run = run,
              .parent = "01_serial",
              .numerics = {.growth = Growth::linear},
              .tiles = {kThreads},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.3},
              .when = {{8192, 1 << 18},
                       "the claim on transparencies computed first, without any other change"}});

}  // namespace
}  // namespace klab
