// ssim_loss_bwd.cuda.02_shared_separable: tiles with their halo in shared memory, along rows and then along columns.
//
// CHANGE    both kernels load 26x26 values once and take 11 taps along each axis.
// EXPECT    2.6 loads of each map from global memory a value in place of 121, and 22 taps in place of 121.
// NUMERICS  windows in two sums.
// NEEDS     14 KiB of shared memory; memory for three maps.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/ssim/window.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kRadius = 5, kSide = kTile + 2 * kRadius, kThreads = kTile * kTile;

/// 26x26 values of a map around a tile; zeros beyond it.
__device__ void load_tile(const float* map, int left, int top, int width, int height,
                          float (&to)[kSide][kSide + 1]) {
  for (int k = int(threadIdx.x); k < kSide * kSide; k += kThreads) {
    const int row = top + k / kSide - kRadius, column = left + k % kSide - kRadius;
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    to[k / kSide][k % kSide] = inside ? map[row * width + column] : 0;
  }
}

__global__ void __launch_bounds__(kThreads) slopes(SsimLossBwd::Args<float> x, float* maps) {
  __shared__ float picture[2][kSide][kSide + 1], across[5][kSide][kTile];
  const int width = int(x.shape.width), height = int(x.shape.height), t = int(threadIdx.x);
  const int left = int(blockIdx.x) * kTile, top = int(blockIdx.y) * kTile;
  const int64_t pixels = int64_t(width) * height, plane = int64_t(blockIdx.z) * pixels;
  load_tile(x.image + plane, left, top, width, height, picture[0]);
  load_tile(x.target + plane, left, top, width, height, picture[1]);
  __syncthreads();
  for (int k = t; k < kSide * kTile; k += kThreads) {
    const int row = k / kTile, column = k % kTile;
    float m[5] = {0, 0, 0, 0, 0};
    for (int j = -kRadius; j <= kRadius; ++j) {
      const float w = ssim_tap(j), a = picture[0][row][column + kRadius + j],
                  b = picture[1][row][column + kRadius + j];
      m[0] += w * a, m[1] += w * b, m[2] += w * a * a, m[3] += w * b * b, m[4] += w * a * b;
    }
    for (int e = 0; e < 5; ++e) across[e][row][column] = m[e];
  }
  __syncthreads();
  const int row = t / kTile, column = t % kTile;
  if (top + row >= height || left + column >= width) return;
  float m[5] = {0, 0, 0, 0, 0}, d[3];
  for (int i = -kRadius; i <= kRadius; ++i)
    for (int e = 0; e < 5; ++e) m[e] += ssim_tap(i) * across[e][row + kRadius + i][column];
  ssim_slopes(m, d);
  for (int e = 0; e < 3; ++e) maps[e * 3 * pixels + plane + (top + row) * width + left + column] = d[e];
}

__global__ void __launch_bounds__(kThreads) gather(SsimLossBwd::Args<float> x, const float* maps) {
  __shared__ float slope[3][kSide][kSide + 1], across[3][kSide][kTile];
  const int width = int(x.shape.width), height = int(x.shape.height), t = int(threadIdx.x);
  const int left = int(blockIdx.x) * kTile, top = int(blockIdx.y) * kTile;
  const int64_t pixels = int64_t(width) * height, plane = int64_t(blockIdx.z) * pixels;
  for (int e = 0; e < 3; ++e) load_tile(maps + e * 3 * pixels + plane, left, top, width, height, slope[e]);
  __syncthreads();
  for (int k = t; k < kSide * kTile; k += kThreads)
    for (int e = 0; e < 3; ++e) {
      float sum = 0;
      for (int j = -kRadius; j <= kRadius; ++j)
        sum += ssim_tap(j) * slope[e][k / kTile][k % kTile + kRadius + j];
      across[e][k / kTile][k % kTile] = sum;
    }
  __syncthreads();
  const int row = t / kTile, column = t % kTile;
  if (top + row >= height || left + column >= width) return;
  float blurred[3] = {0, 0, 0};
  for (int i = -kRadius; i <= kRadius; ++i)
    for (int e = 0; e < 3; ++e) blurred[e] += ssim_tap(i) * across[e][row + kRadius + i][column];
  const int64_t at = plane + (top + row) * width + left + column;
  const float off = x.image[at] - x.target[at], sign = off > 0 ? 1.0F : off < 0 ? -1.0F : 0.0F;
  const float d = blurred[0] + 2 * x.image[at] * blurred[1] + x.target[at] * blurred[2];
  const float share = x.d_loss[0] / float(3 * pixels), weight = x.weight[0];
  x.d_image[at] = share * ((1 - weight) * sign - weight * d);
}

void run(const SsimLossBwd::Args<float>& x) {
  const dim3 grid(unsigned((x.shape.width + kTile - 1) / kTile),
                  unsigned((x.shape.height + kTile - 1) / kTile), 3);
  const cuda::Scratch maps(size_t(9 * x.shape.pixels()) * sizeof(float));
  cuda::launch(slopes, grid, kThreads, 0, x, maps.as<float>());
  cuda::launch(gather, grid, kThreads, 0, x, maps.as<float>());
}

KLAB_VARIANT(SsimLossBwd, {.run = run,
                           .parent = "01_naive",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {kTile, kSide},
                           .supported = [](const SsimLossFwd::Shape& s, const Host&) -> std::string {
                             return s.height > 65535 * 16 ? "more than 65535 rows of tiles" : "";
                           }});

}  // namespace
}  // namespace klab
