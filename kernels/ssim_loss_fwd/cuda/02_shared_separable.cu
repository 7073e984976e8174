// ssim_loss_fwd.cuda.02_shared_separable: a tile with its halo in shared memory, along rows and then along columns.
//
// CHANGE    a block loads 26x26 values of both pictures once; five moments of 26x16 along the rows go to shared memory, and a
//           thread takes 11 of each along its column.
// EXPECT    2.6 loads of each picture from global memory a value in place of 121, and 22 taps in place of 121.
// NUMERICS  windows in two sums; the rest as the parent.
// NEEDS     14 KiB of shared memory.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/ssim/window.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kRadius = 5, kSide = kTile + 2 * kRadius, kThreads = kTile * kTile;

__global__ void __launch_bounds__(kThreads) compare(SsimLossFwd::Args<float> x, float* parts) {
  __shared__ float picture[2][kSide][kSide + 1], across[5][kSide][kTile];
  __shared__ float sums[kThreads];
  const int width = int(x.shape.width), height = int(x.shape.height), t = int(threadIdx.x);
  const int left = int(blockIdx.x) * kTile, top = int(blockIdx.y) * kTile;
  const int64_t plane = int64_t(blockIdx.z) * width * height;
  for (int k = t; k < kSide * kSide; k += kThreads) {
    const int row = top + k / kSide - kRadius, column = left + k % kSide - kRadius;
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    picture[0][k / kSide][k % kSide] = inside ? x.image[plane + row * width + column] : 0;
    picture[1][k / kSide][k % kSide] = inside ? x.target[plane + row * width + column] : 0;
  }
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
  float own = 0;
  if (top + row < height && left + column < width) {
    float m[5] = {0, 0, 0, 0, 0};
    for (int i = -kRadius; i <= kRadius; ++i)
      for (int e = 0; e < 5; ++e) m[e] += ssim_tap(i) * across[e][row + kRadius + i][column];
    const float off =
        picture[0][row + kRadius][column + kRadius] - picture[1][row + kRadius][column + kRadius];
    own = (1 - x.weight[0]) * fabsf(off) + x.weight[0] * (1 - ssim_value(m));
  }
  sums[t] = own;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) sums[t] += sums[t + half];
  }
  if (t == 0) parts[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = sums[0];
}

__global__ void add_up(int64_t parts, const float* from, double values, float* loss) {
  double sum = 0;
  for (int64_t i = 0; i < parts; ++i) sum += from[i];
  *loss = float(sum / values);
}

void run(const SsimLossFwd::Args<float>& x) {
  const dim3 grid(unsigned((x.shape.width + kTile - 1) / kTile),
                  unsigned((x.shape.height + kTile - 1) / kTile), 3);
  const int64_t blocks = int64_t(grid.x) * grid.y * 3;
  const cuda::Scratch parts(size_t(blocks) * sizeof(float));
  cuda::launch(compare, grid, kThreads, 0, x, parts.as<float>());
  cuda::launch(add_up, 1U, 1, 0, blocks, parts.as<float>(), 3 * double(x.shape.pixels()), x.loss);
}

KLAB_VARIANT(SsimLossFwd, {.run = run,
                           .parent = "01_naive",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {kTile, kSide},
                           .supported = [](const SsimLossFwd::Shape& s, const Host&) -> std::string {
                             return s.height > 65535 * 16 ? "more than 65535 rows of tiles" : "";
                           }});

}  // namespace
}  // namespace klab
