// conv2d_bwd.cuda.02_warp_per_weight: a sum over a picture belongs to a warp.
//
// CHANGE    for d_w and d_b the 32 lanes of a warp take neighboring outputs, each with its own sum; shuffles
//           add them up. d_x is the parent's.
// EXPECT    32 times as many threads for the weights. With NCHW both operands of a lane's product are
//           neighbors of the next lane's: one request replaces 32 steps of the parent. With NHWC they lie a
//           pixel apart.
// NUMERICS  float accumulators: one chain a lane, then five additions.
// NEEDS     nothing; both layouts.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__global__ void __launch_bounds__(kThreads)
    input_gradient(Conv2dShape s, const float* __restrict__ w, const float* __restrict__ d_y,
                   float* __restrict__ d_x, int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t channels = s.in_channels(), of_image = s.h * s.w;
  const int64_t from = s.nhwc != 0 ? at % channels : at / of_image % channels;
  const int64_t pixel = s.nhwc != 0 ? at / channels % of_image : at % of_image,
                image = at / (of_image * channels);
  const int64_t row = pixel / s.w + s.pad_y, column = pixel % s.w + s.pad_x, oh = s.oh(), ow = s.ow();
  float sum = 0;
  for (int64_t u = 0; u < s.r; ++u)
    for (int64_t v = 0; v < s.s; ++v) {
      const int64_t down = row - u * s.dilation_y, right = column - v * s.dilation_x;
      if (down < 0 || right < 0 || down % s.stride_y != 0 || right % s.stride_x != 0) continue;
      const int64_t i = down / s.stride_y, j = right / s.stride_x;
      if (i >= oh || j >= ow) continue;
      for (int64_t k = 0; k < s.k; ++k) {
        const int64_t to = from / s.c * s.k + k;
        sum += w[((to * s.c + from % s.c) * s.r + u) * s.s + v] * d_y[s.y_at(image, to, i, j)];
      }
    }
  d_x[at] = sum;
}

/// The sum of all lanes' values, in lane 0.
__device__ __forceinline__ float over_lanes(float sum) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffU, sum, distance);
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    weight_gradient(Conv2dShape s, const float* __restrict__ x, const float* __restrict__ d_y,
                    float* __restrict__ d_w, int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (at >= total) return;
  const int64_t v = at % s.s, u = at / s.s % s.r, c = at / s.taps() % s.c, to = at / s.taps() / s.c;
  const int64_t oh = s.oh(), ow = s.ow(), outputs = s.n * oh * ow;
  float sum = 0;
  for (int64_t t = threadIdx.x % 32; t < outputs; t += 32) {
    const int64_t j = t % ow, i = t / ow % oh, image = t / ow / oh;
    const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
    const int64_t column = j * s.stride_x + v * s.dilation_x - s.pad_x;
    if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
    sum += x[s.x_at(image, to / s.k * s.c + c, row, column)] * d_y[s.y_at(image, to, i, j)];
  }
  sum = over_lanes(sum);
  if (threadIdx.x % 32 == 0) d_w[at] = sum;
}

__global__ void __launch_bounds__(kThreads)
    bias_gradient(Conv2dShape s, const float* __restrict__ d_y, float* __restrict__ d_b) {
  const int64_t to = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (to >= s.out_channels()) return;
  const int64_t oh = s.oh(), ow = s.ow(), outputs = s.n * oh * ow;
  float sum = 0;
  for (int64_t t = threadIdx.x % 32; t < outputs; t += 32)
    sum += d_y[s.y_at(t / ow / oh, to, t / ow % oh, t % ow)];
  sum = over_lanes(sum);
  if (threadIdx.x % 32 == 0) d_b[to] = sum;
}

dim3 blocks(int64_t total, int64_t of_block) { return dim3(unsigned((total + of_block - 1) / of_block)); }

void run(const Conv2dBwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  const int64_t pixels = s.n * s.in_channels() * s.h * s.w, weights = s.out_channels() * s.c * s.taps();
  if (pixels > 0)
    cuda::launch(input_gradient, blocks(pixels, kThreads), dim3(kThreads), 0, s, x.w, x.d_y, x.d_x, pixels);
  if (weights > 0)
    cuda::launch(weight_gradient, blocks(weights, kWarps), dim3(kThreads), 0, s, x.x, x.d_y, x.d_w, weights);
  if (s.k > 0)
    cuda::launch(bias_gradient, blocks(s.out_channels(), kWarps), dim3(kThreads), 0, s, x.d_y, x.d_b);
}

KLAB_VARIANT(Conv2dBwd, {.run = run, .parent = "01_naive", .tiles = {32}});

}  // namespace
}  // namespace klab
