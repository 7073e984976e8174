// conv2d_fwd.cuda.03_im2col: the windows written out, then lab 05's product.
//
// CHANGE    one kernel writes the matrix of windows, a row for each tap and a column for each output of all images; a second
//           multiplies weights by it, 64 x 64 outputs a block, 4 x 4 a thread, both tiles in shared memory.
// EXPECT    a thread reads two times four floats of shared memory for 16 multiply-adds; the parent reads one pixel and two
//           times four weights for 8. The matrix goes to memory and back, c·r·s·4 bytes for each output and each 64
//           channels: where that is more than the product can hide, the parent wins.
// NUMERICS  float accumulator that begins with the bias, one chain of c·r·s additions.
// NEEDS     device memory for the matrix of one group; both layouts.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kTile = 64, kDepth = 16, kSide = 4;

/// Writes matrix[c·r·s, pixels]: the pixel that tap (c,u,v) of group g reads for each output of each image.
__global__ void __launch_bounds__(kThreads)
    write_windows(Conv2dShape s, const float* __restrict__ x, int64_t g, int64_t pixels, int64_t total,
                  float* __restrict__ matrix) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t pixel = at % pixels, tap = at / pixels % s.taps(), c = at / pixels / s.taps();
  const int64_t j = pixel % s.ow(), i = pixel / s.ow() % s.oh(), image = pixel / (s.ow() * s.oh());
  const int64_t row = i * s.stride_y + tap / s.s * s.dilation_y - s.pad_y;
  const int64_t column = j * s.stride_x + tap % s.s * s.dilation_x - s.pad_x;
  const bool inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
  matrix[at] = inside ? x[s.x_at(image, g * s.c + c, row, column)] : 0;
}

/// y of group g = b + w[k, depth]·matrix[depth, pixels]
__global__ void __launch_bounds__(kThreads)
    multiply(Conv2dShape s, const float* __restrict__ matrix, const float* __restrict__ w,
             const float* __restrict__ b, float* __restrict__ y, int64_t g, int64_t pixels) {
  __shared__ __align__(16) float tile_w[kDepth][kTile + 4];  // [p][channel]
  __shared__ __align__(16) float tile_x[kDepth][kTile];      // [p][pixel]
  const int64_t depth = s.c * s.taps(), across = (pixels + kTile - 1) / kTile;
  const int64_t k0 = blockIdx.x / across * kTile, t0 = blockIdx.x % across * kTile;
  const int column = int(threadIdx.x) % 16 * kSide, row = int(threadIdx.x) / 16 * kSide;
  float sums[kSide][kSide];
#pragma unroll
  for (int a = 0; a < kSide; ++a)
#pragma unroll
    for (int q = 0; q < kSide; ++q) sums[a][q] = k0 + row + a < s.k ? b[g * s.k + k0 + row + a] : 0;
  for (int64_t p0 = 0; p0 < depth; p0 += kDepth) {
    for (int e = int(threadIdx.x); e < kTile * kDepth; e += kThreads) {
      const int64_t k = k0 + e / kDepth, p = p0 + e % kDepth;  // along the rows of w
      tile_w[e % kDepth][e / kDepth] = k < s.k && p < depth ? w[(g * s.k + k) * depth + p] : 0;
    }
    for (int e = int(threadIdx.x); e < kTile * kDepth; e += kThreads) {
      const int64_t t = t0 + e % kTile, p = p0 + e / kTile;  // along the rows of the matrix
      tile_x[e / kTile][e % kTile] = t < pixels && p < depth ? matrix[p * pixels + t] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      const float4 of_w = *reinterpret_cast<const float4*>(&tile_w[p][row]);
      const float4 of_x = *reinterpret_cast<const float4*>(&tile_x[p][column]);
      const float left[kSide] = {of_w.x, of_w.y, of_w.z, of_w.w},
                  right[kSide] = {of_x.x, of_x.y, of_x.z, of_x.w};
#pragma unroll
      for (int a = 0; a < kSide; ++a)
#pragma unroll
        for (int q = 0; q < kSide; ++q) sums[a][q] += left[a] * right[q];
    }
    __syncthreads();
  }
  for (int a = 0; a < kSide; ++a)
    for (int q = 0; q < kSide; ++q) {
      const int64_t k = k0 + row + a, t = t0 + column + q;
      if (k >= s.k || t >= pixels) continue;
      const int64_t of_image = s.oh() * s.ow(), at = t % of_image;
      y[s.y_at(t / of_image, g * s.k + k, at / s.ow(), at % s.ow())] = sums[a][q];
    }
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  const int64_t pixels = s.n * s.oh() * s.ow(), total = s.c * s.taps() * pixels;
  if (pixels * s.k == 0) return;
  cuda::Scratch scratch(size_t(total) * sizeof(float));
  auto* matrix = scratch.as<float>();
  const int64_t blocks = (s.k + kTile - 1) / kTile * ((pixels + kTile - 1) / kTile);
  for (int64_t g = 0; g < s.groups; ++g) {
    if (total > 0)
      cuda::launch(write_windows, dim3(unsigned((total + kThreads - 1) / kThreads)), dim3(kThreads), 0, s,
                   x.x, g, pixels, total, matrix);
    cuda::launch(multiply, dim3(unsigned(blocks)), dim3(kThreads), 0, s, matrix, x.w, x.b, x.y, g, pixels);
  }
}

KLAB_VARIANT(Conv2dFwd, {.run = run, .parent = "02_shared_tile", .tiles = {kDepth, kTile}});

}  // namespace
}  // namespace klab
