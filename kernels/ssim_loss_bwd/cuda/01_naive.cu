// ssim_loss_bwd.cuda.01_naive: two kernels of 121 taps from global memory.
//
// CHANGE    the naive loops: one kernel writes the slopes of S to three maps, one blurs these.
// EXPECT    242 loads and then 363 a value, of which L1 serves most.
// NEEDS     memory for three maps.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/ssim/window.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kRadius = 5;

struct Place {
  int64_t plane, values;
  int row, column, width, height;
};

__device__ Place place_of(const SsimLossBwd::Args<float>& x, int64_t at) {
  const int width = int(x.shape.width), height = int(x.shape.height);
  const int64_t pixels = int64_t(width) * height;
  return {at / pixels * pixels,     3 * pixels, int(at % pixels) / width,
          int(at % pixels) % width, width,      height};
}

__global__ void __launch_bounds__(kThreads) slopes(SsimLossBwd::Args<float> x, float* maps) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Place p = place_of(x, at);
  if (at >= p.values) return;
  float m[5] = {0, 0, 0, 0, 0}, d[3];
  for (int i = -kRadius; i <= kRadius; ++i)
    for (int j = -kRadius; j <= kRadius; ++j) {
      if (p.row + i < 0 || p.row + i >= p.height || p.column + j < 0 || p.column + j >= p.width) continue;
      const int64_t from = p.plane + (p.row + i) * p.width + p.column + j;
      const float w = ssim_tap(i) * ssim_tap(j), a = x.image[from], b = x.target[from];
      m[0] += w * a, m[1] += w * b, m[2] += w * a * a, m[3] += w * b * b, m[4] += w * a * b;
    }
  ssim_slopes(m, d);
  for (int e = 0; e < 3; ++e) maps[e * p.values + at] = d[e];
}

__global__ void __launch_bounds__(kThreads) gather(SsimLossBwd::Args<float> x, const float* maps) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Place p = place_of(x, at);
  if (at >= p.values) return;
  float blurred[3] = {0, 0, 0};
  for (int i = -kRadius; i <= kRadius; ++i)
    for (int j = -kRadius; j <= kRadius; ++j) {
      if (p.row + i < 0 || p.row + i >= p.height || p.column + j < 0 || p.column + j >= p.width) continue;
      const int64_t from = p.plane + (p.row + i) * p.width + p.column + j;
      for (int e = 0; e < 3; ++e) blurred[e] += ssim_tap(i) * ssim_tap(j) * maps[e * p.values + from];
    }
  const float off = x.image[at] - x.target[at], sign = off > 0 ? 1.0F : off < 0 ? -1.0F : 0.0F;
  const float slope = blurred[0] + 2 * x.image[at] * blurred[1] + x.target[at] * blurred[2];
  const float share = x.d_loss[0] / float(p.values), weight = x.weight[0];
  x.d_image[at] = share * ((1 - weight) * sign - weight * slope);
}

void run(const SsimLossBwd::Args<float>& x) {
  const int64_t values = 3 * x.shape.pixels();
  const auto blocks = unsigned((values + kThreads - 1) / kThreads);
  const cuda::Scratch maps(size_t(3 * values) * sizeof(float));
  cuda::launch(slopes, blocks, kThreads, 0, x, maps.as<float>());
  cuda::launch(gather, blocks, kThreads, 0, x, maps.as<float>());
}

KLAB_VARIANT(SsimLossBwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {11}});

}  // namespace
}  // namespace klab
