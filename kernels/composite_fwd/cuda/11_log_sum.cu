// composite_fwd.cuda.11_log_sum: 01_serial with a sum of optical depths in place of the product.
//
// CHANGE    T = exp(-sum of tau), both exponentials by expf; the weight is the difference of two neighboring T.
// EXPECT    a sample still takes two exponentials, and the chain from sample to sample is an addition in place of a
//           multiplication, both as long. A claim says 1.2 to 1.5; expect less than 1.05. (Rung 05 gains where a scan
//           of sums replaces one of products.)
// NUMERICS  relative error of T grows with the optical depth, where T itself falls faster; weights are differences,
//           so small ones keep an absolute error of a few u.
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
  float transmittance = 1, red = 0, green = 0, blue = 0, opaque = 0, far = 0, optical_depth = 0;
  for (int64_t i = ray_begin[r], end = ray_begin[r + 1]; i < end && transmittance >= kStop; ++i) {
    optical_depth += expf(density_raw[i]) * delta[i];
    const float behind = expf(-optical_depth);
    const float weight = transmittance - behind;
    red += weight * rgb[i];
    green += weight * rgb[samples + i];
    blue += weight * rgb[2 * samples + i];
    opaque += weight;
    far += weight * t[i];
    transmittance = behind;
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
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.0},
              .when = {{8192, 1 << 18}, "the claim on sums of logarithms, without any other change"}});

}  // namespace
}  // namespace klab
