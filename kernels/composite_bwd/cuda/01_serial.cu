// composite_bwd.cuda.01_serial: one thread per ray, two walks.
//
// CHANGE    the naive loops of each ray in a thread of its own. A sample's gradient needs the sum behind it:
//           a first walk finds the whole sum, a second walks the ray again and subtracts the samples that it
//           has passed.
// EXPECT    lanes read and write samples of 32 rays: 32 sectors/request where 4 would do, and the warp
//           continues until its longest ray ends. Exponentials are computed twice.
// NUMERICS  one rounding a operation in sample order; suffix = total - prefix.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_bwd/composite_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    backward(int64_t rays, int64_t samples, const int32_t* __restrict__ ray_begin,
             const float* __restrict__ density_raw, const float* __restrict__ rgb,
             const float* __restrict__ delta, const float* __restrict__ t,
             const float* __restrict__ background, const float* __restrict__ d_color,
             const float* __restrict__ d_opacity, const float* __restrict__ d_depth,
             float* __restrict__ d_density_raw, float* __restrict__ d_rgb) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rays) return;
  constexpr float kStop = float(CompositeFwd::stop);
  const int64_t begin = ray_begin[r], end = ray_begin[r + 1];
  const float red = d_color[r], green = d_color[rays + r], blue = d_color[2 * rays + r], far = d_depth[r];
  float total = 0, transmittance = 1;
  int64_t stop = begin;
  for (; stop < end && transmittance >= kStop; ++stop) {
    const float through = expf(-expf(density_raw[stop]) * delta[stop]);
    const float payload =
        red * rgb[stop] + green * rgb[samples + stop] + blue * rgb[2 * samples + stop] + far * t[stop];
    total += transmittance * (1 - through) * payload;
    transmittance *= through;
  }
  total += transmittance * (red * background[r] + green * background[rays + r] +
                            blue * background[2 * rays + r] - d_opacity[r]);
  float prefix = 0;
  transmittance = 1;
  for (int64_t i = begin; i < stop; ++i) {
    const float through = expf(-expf(density_raw[i]) * delta[i]);
    const float payload = red * rgb[i] + green * rgb[samples + i] + blue * rgb[2 * samples + i] + far * t[i];
    const float weight = transmittance * (1 - through);
    transmittance *= through;
    prefix += weight * payload;
    const float slope = expf(fminf(fmaxf(density_raw[i], -15), 15)) * delta[i];
    d_density_raw[i] = slope * (transmittance * payload - (total - prefix));
    d_rgb[i] = weight * red;
    d_rgb[samples + i] = weight * green;
    d_rgb[2 * samples + i] = weight * blue;
  }
  for (int64_t i = stop; i < end; ++i) {
    d_density_raw[i] = 0;
    for (int c = 0; c < 3; ++c) d_rgb[c * samples + i] = 0;
  }
}

void run(const CompositeBwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  const auto blocks = unsigned((x.shape.rays + kThreads - 1) / kThreads);
  cuda::launch(backward, dim3(blocks), dim3(kThreads), 0, x.shape.rays, x.shape.samples, x.ray_begin,
               x.density_raw, x.rgb, x.delta, x.t, x.background, x.d_color, x.d_opacity, x.d_depth,
               x.d_density_raw, x.d_rgb);
}

KLAB_VARIANT(CompositeBwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
