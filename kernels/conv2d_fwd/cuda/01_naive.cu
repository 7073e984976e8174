// conv2d_fwd.cuda.01_naive: a thread for each output.
//
// CHANGE    the definition. Neighboring threads take outputs that are neighbors in memory, whatever the layout.
// EXPECT    c·r·s loads of x and as many of w for each thread. NCHW: a warp shares its weight and reads 32 neighbors of a row,
//           which the next tap reads again, shifted by one. NHWC: a warp shares its pixel, and each lane reads another
//           kernel, c·r·s floats from its neighbor's.
// NUMERICS  float accumulator that begins with the bias, one chain of c·r·s additions.
// NEEDS     nothing; both layouts. A border other than zeros: device memory for a copy of the pictures with it.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    outputs(Conv2dShape s, const float* __restrict__ x, const float* __restrict__ w,
            const float* __restrict__ b, float* __restrict__ y, int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t oh = s.oh(), ow = s.ow(), channels = s.out_channels();
  const int64_t to = s.nhwc != 0 ? at % channels : at / (oh * ow) % channels;
  const int64_t pixel = s.nhwc != 0 ? at / channels : at % (oh * ow);
  const int64_t j = pixel % ow, i = pixel / ow % oh, image = at / (oh * ow * channels);
  float sum = b[to];
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t u = 0; u < s.r; ++u)
      for (int64_t v = 0; v < s.s; ++v) {
        const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
        const int64_t column = j * s.stride_x + v * s.dilation_x - s.pad_x;
        if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
        sum += w[((to * s.c + c) * s.r + u) * s.s + v] * x[s.x_at(image, to / s.k * s.c + c, row, column)];
      }
  y[at] = sum;
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  if (s.border != 0) return pad::forward(x, s.in_channels(), run);
  const int64_t total = s.n * s.out_channels() * s.oh() * s.ow();
  if (total == 0) return;
  cuda::launch(outputs, dim3(unsigned((total + kThreads - 1) / kThreads)), dim3(kThreads), 0, s, x.x, x.w,
               x.b, x.y, total);
}

KLAB_VARIANT(Conv2dFwd, {.run = run, .tiles = {32}, .needs = {"border"}});

}  // namespace
}  // namespace klab
