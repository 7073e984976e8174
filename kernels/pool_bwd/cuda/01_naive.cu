// pool_bwd.cuda.01_naive: a thread for each pixel asks its windows.
//
// CHANGE    nothing is sent, so no atomics: a thread goes over the windows that its pixel lies in, finds the largest pixel of each
//           again, and takes the gradient where that is its own. An average takes its share of each.
// EXPECT    r·s comparisons for each window and each of its pixels: (r·s)² loads for a window of a maximum, most of which L1
//           has.
// NUMERICS  float sums, in the order of the windows.
// NEEDS     nothing; both layouts. A border: device memory for copies of the pictures with it, and their gradients.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/pool_bwd/pool_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// Where the largest pixel of a window lies: the first in row-major order.
__device__ __forceinline__ int64_t largest_of(const PoolShape& s, const float* __restrict__ x, int64_t image,
                                              int64_t channel, PoolShape::Range rows,
                                              PoolShape::Range columns) {
  int64_t largest = s.x_at(image, channel, rows.begin, columns.begin);
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      const int64_t at = s.x_at(image, channel, p, q);
      if (x[at] > x[largest]) largest = at;
    }
  return largest;
}

/// Windows [begin, end) along one axis that a pixel lies in.
__device__ __forceinline__ PoolShape::Range windows(int64_t pixel, int64_t pad, int64_t length,
                                                    int64_t stride, int64_t count) {
  const int64_t first = pixel + pad - length + 1, last = (pixel + pad) / stride + 1;
  return {first > 0 ? (first + stride - 1) / stride : 0, last < count ? last : count};
}

__global__ void __launch_bounds__(kThreads)
    pixels(PoolShape s, const float* __restrict__ x, const float* __restrict__ d_y, float* __restrict__ d_x,
           int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t channel = s.nhwc != 0 ? at % s.c : at / (s.h * s.w) % s.c, image = at / (s.h * s.w * s.c);
  const int64_t pixel = s.nhwc != 0 ? at / s.c % (s.h * s.w) : at % (s.h * s.w);
  const PoolShape::Range down = windows(pixel / s.w, s.pad_y, s.r, s.stride_y, s.oh());
  const PoolShape::Range across = windows(pixel % s.w, s.pad_x, s.s, s.stride_x, s.ow());
  float sum = 0;
  for (int64_t i = down.begin; i < down.end; ++i)
    for (int64_t j = across.begin; j < across.end; ++j) {
      const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
      const float upstream = d_y[s.y_at(image, channel, i, j)];
      if (!s.is_max())
        sum += upstream / float(s.divisor(rows, columns));
      else if (largest_of(s, x, image, channel, rows, columns) == at)
        sum += upstream;
    }
  d_x[at] = sum;
}

void run(const PoolBwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return pad::backward(x, s.c, run);
  const int64_t total = s.n * s.c * s.h * s.w;
  if (total == 0) return;
  cuda::launch(pixels, dim3(unsigned((total + kThreads - 1) / kThreads)), dim3(kThreads), 0, s, x.x, x.d_y,
               x.d_x, total);
}

KLAB_VARIANT(PoolBwd, {.run = run, .tiles = {32}, .needs = {"border"}});

}  // namespace
}  // namespace klab
