// matmul.cuda.09_wmma: tensor cores, through CUDA's own fragments.
//
// CHANGE    a warp multiplies matrices of 16 x 16 with one call. A and B are rounded to bfloat16 on the way
//           through registers to shared memory, so no asynchronous copies; sums stay in float. Depth 32 a
//           step, rows of the tiles padded by 8 elements, that is 16 bytes. Warps stand as in 08_warp_tile.
// EXPECT    4096 multiply-adds cost a warp one matrix product in place of 128 fused multiply-adds. The tensor
//           cores are far from busy: fetching, converting and barriers are the limit now. At least 1.5 times
//           the parent.
// NUMERICS  bfloat16 factors, float sums. With u = 2^-8 a product is a(1 + d)·b(1 + e), |d|, |e| <= u: its
//           error is at most (2u + u²)|ab|, and the sum adds k·2^-24·Σ|a||b|. Both are within γ_k(u)·Σ|a||b|
//           for k >= 2, the bound of bfloat16's class; the contract counts two roundings at the least. The
//           range is float's.
// NEEDS     compute capability 8.0; 27 KB of shared memory.
// TRIED     on paper: half in place of bfloat16 has 8 times its precision, but overflows at 65504.
// SASS      HMMA.BF16 LDG.128; no LDGSTS LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {
namespace wmma = nvcuda::wmma;

constexpr int kTile = 128, kDepth = 32, kSide = 16;
constexpr int kThreads = 256, kWarpRows = 64, kWarpColumns = 32;
constexpr int kDown = kWarpRows / kSide, kAcross = kWarpColumns / kSide;  // fragments of a warp

using FragmentA = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;

struct Tiles {
  __nv_bfloat16 a[kTile][kDepth + 8];  // [row][p]
  __nv_bfloat16 b[kDepth][kTile + 8];  // [p][column]
};

/// Four neighbors of a row, zeros from `count` on. `whole`: rows begin on 16 bytes.
template <bool whole>
__device__ __forceinline__ float4 fetch(const float* p, int64_t count) {
  if (count <= 0) return make_float4(0, 0, 0, 0);
  if constexpr (whole) return *reinterpret_cast<const float4*>(p);
  return make_float4(p[0], count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, count > 3 ? p[3] : 0);
}

/// A tile of `rows` x `columns` from (row0, column0) of a matrix of `height` x `width`, rounded.
template <bool whole, int rows, int columns, int stride>
__device__ __forceinline__ void bring(__nv_bfloat16 (&tile)[rows][stride], const float* __restrict__ matrix,
                                      int64_t height, int64_t width, int64_t row0, int64_t column0) {
  const int r0 = int(threadIdx.x) / (columns / 4), s = int(threadIdx.x) % (columns / 4) * 4;
#pragma unroll
  for (int r = r0; r < rows; r += kThreads / (columns / 4)) {
    const float4 four =
        fetch<whole>(matrix + (row0 + r) * width + column0 + s, row0 + r < height ? width - column0 - s : 0);
    *reinterpret_cast<__nv_bfloat162*>(&tile[r][s]) = __floats2bfloat162_rn(four.x, four.y);
    *reinterpret_cast<__nv_bfloat162*>(&tile[r][s + 2]) = __floats2bfloat162_rn(four.z, four.w);
  }
}

template <bool whole>
__global__ void __launch_bounds__(kThreads)
    multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
             int64_t n, int64_t k, bool direct) {
  __shared__ __align__(128) Tiles tiles;
  __shared__ __align__(128) float edge[kThreads / 32][kSide * kSide];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = warp / (kTile / kWarpColumns) * kWarpRows;
  const int column = warp % (kTile / kWarpColumns) * kWarpColumns;
  Sums sums[kDown][kAcross];
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int s = 0; s < kAcross; ++s) wmma::fill_fragment(sums[r][s], 0.0F);
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    bring<whole, kTile, kDepth>(tiles.a, a, m, k, i0, p0);
    bring<whole, kDepth, kTile>(tiles.b, b, k, n, p0, j0);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; p += kSide) {
      FragmentB of_b[kAcross];
#pragma unroll
      for (int s = 0; s < kAcross; ++s)
        wmma::load_matrix_sync(of_b[s], &tiles.b[p][column + s * kSide], kTile + 8);
#pragma unroll
      for (int r = 0; r < kDown; ++r) {
        FragmentA of_a;
        wmma::load_matrix_sync(of_a, &tiles.a[row + r * kSide][p], kDepth + 8);
#pragma unroll
        for (int s = 0; s < kAcross; ++s) wmma::mma_sync(sums[r][s], of_a, of_b[s], sums[r][s]);
      }
    }
    __syncthreads();
  }
  // CUDA does not specify which lane holds which element: tiles that cross the edge go through shared memory.
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int s = 0; s < kAcross; ++s) {
      const int64_t i = i0 + row + r * kSide, j = j0 + column + s * kSide;
      if (direct && i + kSide <= m && j + kSide <= n) {
        wmma::store_matrix_sync(c + i * n + j, sums[r][s], unsigned(n), wmma::mem_row_major);
        continue;
      }
      wmma::store_matrix_sync(edge[warp], sums[r][s], kSide, wmma::mem_row_major);
      __syncwarp();
      for (int e = lane; e < kSide * kSide; e += 32)
        if (i + e / kSide < m && j + e % kSide < n) c[(i + e / kSide) * n + j + e % kSide] = edge[warp][e];
      __syncwarp();
    }
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const bool whole = n % 4 == 0 && k % 4 == 0 && cuda::aligned(x.a) && cuda::aligned(x.b);
  const bool direct = n % 8 == 0 && cuda::aligned(x.c, 32);  // required by store_matrix_sync
  cuda::launch(whole ? multiply<true> : multiply<false>, dim3(unsigned(down * across)), dim3(kThreads), 0,
               x.a, x.b, x.c, m, n, k, direct);
}

KLAB_VARIANT(Matmul,
             {.run = run,
              .parent = "07_async_copies",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kSide, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.5},
              .supported = [](const Matmul::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
