// ssim_loss_fwd.cuda.03_last_block: the block that ends last adds up the blocks' shares.
//
// CHANGE    one launch in place of two: blocks leave their shares in memory as before, and the last of them to end adds these
//           up with all its threads (kernels/common/last_block.h), where one thread of a second launch took one after the other.
// EXPECT    1,875 additions of one thread, each behind a load, some 40 of the parent's 83 us, become eight rounds and a tree.
// NUMERICS  the shares' sum in double, in an order that depends on the size only; the rest as the parent.
// NEEDS     14 KiB of shared memory.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "kernels/common/ssim/window.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kRadius = 5, kSide = kTile + 2 * kRadius, kThreads = kTile * kTile;

__global__ void __launch_bounds__(kThreads)
    compare(SsimLossFwd::Args<float> x, float* parts, unsigned* arrivals) {
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
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  if (!cuda::is_last_block(arrivals, blocks)) return;
  __shared__ double shares[kThreads];
  double sum = 0;
  for (unsigned k = unsigned(t); k < blocks; k += kThreads) sum += double(parts[k]);
  shares[t] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) shares[t] += shares[t + half];
  }
  if (t == 0) *x.loss = float(shares[0] / (3.0 * width * height));
}

void run(const SsimLossFwd::Args<float>& x) {
  const dim3 grid(unsigned((x.shape.width + kTile - 1) / kTile),
                  unsigned((x.shape.height + kTile - 1) / kTile), 3);
  const int64_t blocks = int64_t(grid.x) * grid.y * 3;
  const cuda::Scratch scratch(size_t(blocks + 1) * sizeof(float));
  auto* const arrivals = scratch.as<unsigned>();
  cuda::fill_zero(arrivals, sizeof(unsigned));
  cuda::launch(compare, grid, kThreads, 0, x, scratch.as<float>() + 1, arrivals);
}

KLAB_VARIANT(SsimLossFwd, {.run = run,
                           .parent = "02_shared_separable",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {kTile, kSide},
                           .expect = {.shape = {400, 400}, .over_parent = 1.5},
                           .supported = [](const SsimLossFwd::Shape& s, const Host&) -> std::string {
                             return s.height > 65535 * 16 ? "more than 65535 rows of tiles" : "";
                           }});

}  // namespace
}  // namespace klab
