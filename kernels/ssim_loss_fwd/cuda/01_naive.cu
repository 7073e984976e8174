// ssim_loss_fwd.cuda.01_naive: one thread per value, 121 taps from global memory.
//
// CHANGE    the naive loop; a block adds its share up in shared memory, and one thread adds the blocks' shares.
// EXPECT    242 loads a value, of which L1 serves most; the last thread waits for one load after the other.
// NUMERICS  sums in a tree of 256, then over blocks in double.
// NEEDS     memory for a number of each block.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/ssim/window.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kRadius = 5;

__global__ void __launch_bounds__(kThreads) compare(SsimLossFwd::Args<float> x, float* parts) {
  __shared__ float sums[kThreads];
  const int width = int(x.shape.width), height = int(x.shape.height);
  const int64_t pixels = int64_t(width) * height, at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const float weight = x.weight[0];
  float own = 0;
  if (at < 3 * pixels) {
    const float *image = x.image + at / pixels * pixels, *target = x.target + at / pixels * pixels;
    const int row = int(at % pixels) / width, column = int(at % pixels) % width;
    float m[5] = {0, 0, 0, 0, 0};
    for (int i = -kRadius; i <= kRadius; ++i)
      for (int j = -kRadius; j <= kRadius; ++j) {
        if (row + i < 0 || row + i >= height || column + j < 0 || column + j >= width) continue;
        const float w = ssim_tap(i) * ssim_tap(j);
        const float a = image[(row + i) * width + column + j], b = target[(row + i) * width + column + j];
        m[0] += w * a, m[1] += w * b, m[2] += w * a * a, m[3] += w * b * b, m[4] += w * a * b;
      }
    own = (1 - weight) * fabsf(x.image[at] - x.target[at]) + weight * (1 - ssim_value(m));
  }
  sums[threadIdx.x] = own;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = sums[0];
}

__global__ void add_up(int64_t parts, const float* from, double values, float* loss) {
  double sum = 0;
  for (int64_t i = 0; i < parts; ++i) sum += from[i];
  *loss = float(sum / values);
}

void run(const SsimLossFwd::Args<float>& x) {
  const int64_t values = 3 * x.shape.pixels(), blocks = (values + kThreads - 1) / kThreads;
  const cuda::Scratch parts(size_t(blocks) * sizeof(float));
  cuda::launch(compare, unsigned(blocks), kThreads, 0, x, parts.as<float>());
  cuda::launch(add_up, 1U, 1, 0, blocks, parts.as<float>(), double(values), x.loss);
}

KLAB_VARIANT(SsimLossFwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {11}});

}  // namespace
}  // namespace klab
