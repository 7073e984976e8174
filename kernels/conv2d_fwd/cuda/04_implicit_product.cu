// conv2d_fwd.cuda.04_implicit_product: the matrix of windows exists only tile by tile, in shared memory; tensor cores multiply.
//
// CHANGE    who needs an element of the matrix computes where it lies in x and fetches it: no first kernel, no matrix in memory.
//           Both tiles are rounded to bfloat16 on their way to shared memory, and a warp multiplies 16 x 16 x 16 at a time
//           (WMMA); sums stay in float.
// EXPECT    the parent's matrix is written once and read once for each 64 channels; here x is read r·s times for each 64
//           channels, most of it from L1 and L2, and nothing is written but y. Loads and stores of shared memory fall with
//           the size of the elements and the size of the products.
// NUMERICS  bfloat16 factors, float sums: with u = 2^-8 a product errs by at most (2u + u²)|w||x|, and the float sum adds
//           c·r·s·2^-24; both are within the bound of bfloat16's class, since the contract counts two roundings at the least.
// NEEDS     compute capability 8.0; 23 KB of shared memory; both layouts.
// SASS      HMMA.BF16; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {
namespace wmma = nvcuda::wmma;

constexpr int kThreads = 128, kTile = 64, kDepth = 32, kSide = 16;
constexpr int kPart = 2;  // fragments of a warp in either direction: 32 channels x 32 pixels

using Weights = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using Windows = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;

struct Tiles {
  __nv_bfloat16 w[kTile][kDepth + 8];  // [channel][p]
  __nv_bfloat16 x[kDepth][kTile + 8];  // [p][pixel]
};

/// Where the window of one output begins; `image` < 0: no such output.
struct Corner {
  int64_t image, row, column;
};

__device__ __forceinline__ Corner corner_of(const Conv2dShape& s, int64_t pixel, int64_t pixels) {
  const int64_t ow = s.ow(), oh = s.oh();
  if (pixel >= pixels) return {-1, 0, 0};
  return {pixel / (ow * oh), pixel / ow % oh * s.stride_y - s.pad_y, pixel % ow * s.stride_x - s.pad_x};
}

/// Row p of the matrix of windows, in the column of that corner.
__device__ __forceinline__ float element(const Conv2dShape& s, const float* __restrict__ x, int64_t g,
                                         const Corner& corner, int64_t p) {
  if (corner.image < 0 || p >= s.c * s.taps()) return 0;
  const int64_t tap = p % s.taps();
  const int64_t row = corner.row + tap / s.s * s.dilation_y,
                column = corner.column + tap % s.s * s.dilation_x;
  if (row < 0 || row >= s.h || column < 0 || column >= s.w) return 0;
  return x[s.x_at(corner.image, g * s.c + p / s.taps(), row, column)];
}

__global__ void __launch_bounds__(kThreads)
    outputs(Conv2dShape s, const float* __restrict__ x, const float* __restrict__ w,
            const float* __restrict__ b, float* __restrict__ y, int64_t pixels) {
  __shared__ __align__(128) Tiles tiles;
  __shared__ __align__(128) float out[kThreads / 32][kSide * kSide];
  const int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int64_t depth = s.c * s.taps(), across = (pixels + kTile - 1) / kTile,
                panels = (s.k + kTile - 1) / kTile;
  const int64_t t0 = blockIdx.x % across * kTile, k0 = blockIdx.x / across % panels * kTile;
  const int64_t g = blockIdx.x / across / panels;
  const int row = warp / 2 * kPart * kSide, column = warp % 2 * kPart * kSide;
  const Corner corner = corner_of(s, t0 + thread % kTile, pixels);  // a thread fetches for one pixel
  Sums sums[kPart][kPart];
#pragma unroll
  for (int a = 0; a < kPart; ++a)
#pragma unroll
    for (int q = 0; q < kPart; ++q) wmma::fill_fragment(sums[a][q], 0.0F);
  for (int64_t p0 = 0; p0 < depth; p0 += kDepth) {
    for (int e = thread; e < kTile * kDepth; e += kThreads) {
      const int64_t k = k0 + e / kDepth, p = p0 + e % kDepth;
      tiles.w[e / kDepth][e % kDepth] =
          __float2bfloat16_rn(k < s.k && p < depth ? w[(g * s.k + k) * depth + p] : 0.0F);
    }
    for (int p = thread / kTile; p < kDepth; p += kThreads / kTile)
      tiles.x[p][thread % kTile] = __float2bfloat16_rn(element(s, x, g, corner, p0 + p));
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; p += kSide) {
      Windows of_x[kPart];
#pragma unroll
      for (int q = 0; q < kPart; ++q)
        wmma::load_matrix_sync(of_x[q], &tiles.x[p][column + q * kSide], kTile + 8);
#pragma unroll
      for (int a = 0; a < kPart; ++a) {
        Weights of_w;
        wmma::load_matrix_sync(of_w, &tiles.w[row + a * kSide][p], kDepth + 8);
#pragma unroll
        for (int q = 0; q < kPart; ++q) wmma::mma_sync(sums[a][q], of_w, of_x[q], sums[a][q]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int a = 0; a < kPart; ++a)
#pragma unroll
    for (int q = 0; q < kPart; ++q) {
      wmma::store_matrix_sync(out[warp], sums[a][q], kSide, wmma::mem_row_major);
      __syncwarp();
      for (int e = lane; e < kSide * kSide; e += 32) {
        const int64_t k = k0 + row + a * kSide + e / kSide, t = t0 + column + q * kSide + e % kSide;
        if (k >= s.k || t >= pixels) continue;
        const int64_t of_image = s.oh() * s.ow(), at = t % of_image;
        y[s.y_at(t / of_image, g * s.k + k, at / s.ow(), at % s.ow())] = out[warp][e] + b[g * s.k + k];
      }
      __syncwarp();
    }
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  const int64_t pixels = s.n * s.oh() * s.ow();
  if (pixels * s.k == 0) return;
  const int64_t blocks = (pixels + kTile - 1) / kTile * ((s.k + kTile - 1) / kTile) * s.groups;
  cuda::launch(outputs, dim3(unsigned(blocks)), dim3(kThreads), 0, s, x.x, x.w, x.b, x.y, pixels);
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "03_im2col",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kSide, kDepth, kTile},
              .supported = [](const Conv2dShape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
