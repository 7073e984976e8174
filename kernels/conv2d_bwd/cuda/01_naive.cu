// conv2d_bwd.cuda.01_naive: a thread for each gradient.
//
// CHANGE    nothing is sent, everything is collected: a thread of d_x asks each tap which output it served, a thread of d_w and
//           one of d_b go over all outputs. No two threads write one element, so no atomics.
// EXPECT    d_x like the forward, lanes at neighboring pixels. In d_w lanes are neighboring taps: they share d_y and read 32
//           pixels a tap apart, and a layer has fewer weights than a GPU has threads, each with n·oh·ow steps to go.
// NUMERICS  float accumulators, one chain for each gradient.
// NEEDS     nothing; both layouts. A border other than zeros: device memory for copies of the pictures with it, and their
//           gradients.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

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

__global__ void __launch_bounds__(kThreads)
    weight_gradient(Conv2dShape s, const float* __restrict__ x, const float* __restrict__ d_y,
                    float* __restrict__ d_w, int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t v = at % s.s, u = at / s.s % s.r, c = at / s.taps() % s.c, to = at / s.taps() / s.c;
  const int64_t oh = s.oh(), ow = s.ow(), left = v * s.dilation_x - s.pad_x;
  float sum = 0;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t i = 0; i < oh; ++i) {
      const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
      if (row < 0 || row >= s.h) continue;
      for (int64_t j = 0; j < ow; ++j) {
        const int64_t column = j * s.stride_x + left;
        if (column < 0 || column >= s.w) continue;
        sum += x[s.x_at(image, to / s.k * s.c + c, row, column)] * d_y[s.y_at(image, to, i, j)];
      }
    }
  d_w[at] = sum;
}

__global__ void __launch_bounds__(kThreads)
    bias_gradient(Conv2dShape s, const float* __restrict__ d_y, float* __restrict__ d_b) {
  const int64_t to = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (to >= s.out_channels()) return;
  const int64_t oh = s.oh(), ow = s.ow();
  float sum = 0;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j) sum += d_y[s.y_at(image, to, i, j)];
  d_b[to] = sum;
}

dim3 blocks(int64_t total) { return dim3(unsigned((total + kThreads - 1) / kThreads)); }

void run(const Conv2dBwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  if (s.border != 0) return pad::backward(x, s.in_channels(), run);
  const int64_t pixels = s.n * s.in_channels() * s.h * s.w, weights = s.out_channels() * s.c * s.taps();
  if (pixels > 0)
    cuda::launch(input_gradient, blocks(pixels), dim3(kThreads), 0, s, x.w, x.d_y, x.d_x, pixels);
  if (weights > 0)
    cuda::launch(weight_gradient, blocks(weights), dim3(kThreads), 0, s, x.x, x.d_y, x.d_w, weights);
  if (s.k > 0) cuda::launch(bias_gradient, blocks(s.out_channels()), dim3(kThreads), 0, s, x.d_y, x.d_b);
}

KLAB_VARIANT(Conv2dBwd, {.run = run, .tiles = {32}, .needs = {"border"}});

}  // namespace
}  // namespace klab
