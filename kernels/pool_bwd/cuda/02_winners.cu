// pool_bwd.cuda.02_winners: each window finds its largest pixel once.
//
// CHANGE    a first kernel has a thread a window and writes where its largest pixel lies. A pixel then compares its own place
//           with those of its windows. Indices are 32 bits wide, and a pixel's row and column are those of its block and
//           thread.
// EXPECT    3x3, stride 2: 9 comparisons a window in place of 9 for each of its pixels, 2.25 windows a pixel: a ninth. 8 bytes
//           a window more. The parent's time was that of 64-bit divisions, some ten a thread of 94 instructions each; here are
//           six of 20. At least 5 times the parent.
// NUMERICS  as the parent.
// NEEDS     4 bytes a window of a maximum; images below 2^31 elements.
// SASS      LDG; no LDL STL CALL.div_s64 CALL.div_u64 CALL.rem_s64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/pool_bwd/pool_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// A shape in 32 bits. A plane is a channel of an image, or where channels are last an image with its channels, so that a plane's
/// element is (row·columns + column)·channels + channel.
struct Sizes {
  int planes, channels, h, w, oh, ow, r, s, stride_y, stride_x, pad_y, pad_x, kind;
};

/// Element `at` of a plane of `columns` columns.
struct Place {
  int row, column, channel;
  __device__ __forceinline__ Place(const Sizes& z, unsigned at, unsigned columns) {
    const unsigned pixel = at / unsigned(z.channels);
    channel = int(at - pixel * unsigned(z.channels));
    row = int(pixel / columns);
    column = int(pixel - unsigned(row) * columns);
  }
};

/// winner[window]: the place of its largest pixel in the plane, the first in row-major order.
__global__ void __launch_bounds__(kThreads)
    find_winners(Sizes z, const float* __restrict__ x, int* __restrict__ winner) {
  const int in = z.h * z.w * z.channels, out = z.oh * z.ow * z.channels;
  const int at = int(blockIdx.x) * kThreads + int(threadIdx.x);
  if (at >= out) return;
  const Place y(z, unsigned(at), unsigned(z.ow));
  const int top = y.row * z.stride_y - z.pad_y, left = y.column * z.stride_x - z.pad_x;
  const int bottom = min(top + z.r, z.h), right = min(left + z.s, z.w);
  for (int plane = int(blockIdx.y); plane < z.planes; plane += int(gridDim.y)) {
    const float* const of_plane = x + int64_t(plane) * in;
    int best = (max(top, 0) * z.w + max(left, 0)) * z.channels + y.channel;
    float largest = of_plane[best];
    for (int p = max(top, 0); p < bottom; ++p)
      for (int q = max(left, 0); q < right; ++q) {
        const int pixel = (p * z.w + q) * z.channels + y.channel;
        const float here = of_plane[pixel];
        if (here > largest) largest = here, best = pixel;
      }
    winner[int64_t(plane) * out + at] = best;
  }
}

__global__ void __launch_bounds__(kThreads)
    pixels(Sizes z, const int* __restrict__ winner, const float* __restrict__ d_y, float* __restrict__ d_x) {
  const int in = z.h * z.w * z.channels, out = z.oh * z.ow * z.channels;
  const int at = int(blockIdx.x) * kThreads + int(threadIdx.x);
  if (at >= in) return;
  const Place x(z, unsigned(at), unsigned(z.w));
  // Windows [begin, end) that the pixel lies in.
  const auto begin = [](int pixel, int pad, int length, int stride) {
    return unsigned(max(pixel + pad - length + stride, 0)) / unsigned(stride);
  };
  const int i0 = int(begin(x.row, z.pad_y, z.r, z.stride_y)),
            j0 = int(begin(x.column, z.pad_x, z.s, z.stride_x));
  const int i1 = min(int(unsigned(x.row + z.pad_y) / unsigned(z.stride_y)) + 1, z.oh);
  const int j1 = min(int(unsigned(x.column + z.pad_x) / unsigned(z.stride_x)) + 1, z.ow);
  for (int plane = int(blockIdx.y); plane < z.planes; plane += int(gridDim.y)) {
    const int64_t first = int64_t(plane) * out;
    float sum = 0;
    for (int i = i0; i < i1; ++i)
      for (int j = j0; j < j1; ++j) {
        const int64_t window = first + (i * z.ow + j) * z.channels + x.channel;
        if (z.kind == 0) {
          if (winner[window] == at) sum += d_y[window];
          continue;
        }
        const int top = i * z.stride_y - z.pad_y, left = j * z.stride_x - z.pad_x;
        const int inside = (min(top + z.r, z.h) - max(top, 0)) * (min(left + z.s, z.w) - max(left, 0));
        sum += d_y[window] / float(z.kind == 2 ? z.r * z.s : inside);
      }
    d_x[int64_t(plane) * in + at] = sum;
  }
}

void run(const PoolBwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return pad::backward(x, s.c, run);
  const int64_t planes = s.nhwc != 0 ? s.n : s.n * s.c, channels = s.nhwc != 0 ? s.c : 1;
  const int64_t in = s.h * s.w * channels, out = s.oh() * s.ow() * channels;
  if (planes * in == 0) return;
  const Sizes z{int(planes),  int(channels), int(s.h),   int(s.w),        int(s.oh()),
                int(s.ow()),  int(s.r),      int(s.s),   int(s.stride_y), int(s.stride_x),
                int(s.pad_y), int(s.pad_x),  int(s.kind)};
  const auto grid = [&](int64_t each) {
    return dim3(unsigned((each + kThreads - 1) / kThreads), unsigned(planes < 65535 ? planes : 65535));
  };
  const cuda::Scratch winners(s.is_max() ? size_t(planes * out) * sizeof(int) : 0);
  if (s.is_max()) cuda::launch(find_winners, grid(out), kThreads, 0, z, x.x, winners.as<int>());
  cuda::launch(pixels, grid(in), kThreads, 0, z, winners.as<int>(), x.d_y, x.d_x);
}

std::string supported(const PoolShape& s, const Host&) {
  constexpr int64_t most = int64_t(1) << 30;
  const int64_t channels = s.nhwc != 0 ? s.c : 1, planes = s.nhwc != 0 ? s.n : s.n * s.c;
  for (const int64_t v :
       {planes, s.h + s.r + s.stride_y, s.w + s.s + s.stride_x, s.r * s.s, s.h * s.w * channels})
    if (v >= most) return "an image or a window of 2^30 elements or more";
  return s.oh() * s.ow() * channels >= most ? "an output of 2^30 elements or more" : "";
}

KLAB_VARIANT(PoolBwd, {.run = run,
                       .parent = "01_naive",
                       .tiles = {32, kThreads},
                       .needs = {"border"},
                       .expect = {.shape = {1, 64, 112, 112, 3, 3, 2, 2, 1, 1, 0, 0}, .over_parent = 5},
                       .supported = supported});

}  // namespace
}  // namespace klab
