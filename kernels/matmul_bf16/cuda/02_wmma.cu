// matmul_bf16.cuda.02_wmma: tensor cores, from tiles in shared memory.
//
// CHANGE    a block has 64 x 64 of C and brings tiles of A and B to shared memory as they are, two bytes an element, 32 deep.
//           Each of its four warps multiplies matrices of 16 x 16 with one call and has 32 x 32 sums.
// EXPECT    an element of A or B is requested once for 64 results in place of one, and 4096 multiply-adds are one matrix
//           product of a warp: five times the parent.
// NUMERICS  float sums. The order within 16 products is the hardware's; the executor adds them exactly and rounds once.
// NEEDS     compute capability 8.0; 10 KB of shared memory, and 4 KB for tiles over the edge.
// SASS      HMMA.BF16 LDG.128 STS.128; no LDGSTS
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {
namespace wmma = nvcuda::wmma;

constexpr int kTile = 64, kDepth = 32, kSide = 16, kWarpSide = 32;
constexpr int kThreads = 128;
constexpr int kPad =
    8;  // elements: rows of a tile begin 16 bytes apart from a multiple of 128, in other banks

using FragmentA = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;

/// A tile from (row0, column0) of a matrix of `height` x `width`, zeros beyond it. `whole`: eight neighbors at a time.
template <int rows, int columns>
__device__ __forceinline__ void bring(__nv_bfloat16 (&tile)[rows][columns + kPad],
                                      const __nv_bfloat16* __restrict__ matrix, int64_t height, int64_t width,
                                      int64_t row0, int64_t column0, bool whole) {
  constexpr int kEach = 8;
  for (int e = int(threadIdx.x) * kEach; e < rows * columns; e += kThreads * kEach) {
    const int r = e / columns, s = e % columns;
    const int64_t row = row0 + r, column = column0 + s;
    const __nv_bfloat16* from = matrix + row * width + column;
    __nv_bfloat16* to = tile[r] + s;
    if (whole && row < height && column + kEach <= width) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
      continue;
    }
    for (int k = 0; k < kEach; ++k)
      to[k] = row < height && column + k < width ? from[k] : __float2bfloat16(0.0F);
  }
}

__global__ void __launch_bounds__(kThreads)
    multiply(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, float* __restrict__ c,
             int64_t m, int64_t n, int64_t k, bool whole, bool direct) {
  __shared__ __align__(128) __nv_bfloat16 tile_a[kTile][kDepth + kPad];
  __shared__ __align__(128) __nv_bfloat16 tile_b[kDepth][kTile + kPad];
  __shared__ __align__(128) float edge[kThreads / 32][kSide * kSide];
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = warp / 2 * kWarpSide, column = warp % 2 * kWarpSide;
  Sums sums[2][2];
  for (int r = 0; r < 2; ++r)
    for (int s = 0; s < 2; ++s) wmma::fill_fragment(sums[r][s], 0.0F);
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    bring<kTile, kDepth>(tile_a, a, m, k, i0, p0, whole);
    bring<kDepth, kTile>(tile_b, b, k, n, p0, j0, whole);
    __syncthreads();
    for (int p = 0; p < kDepth; p += kSide) {
      FragmentB of_b[2];
      for (int s = 0; s < 2; ++s)
        wmma::load_matrix_sync(of_b[s], &tile_b[p][column + s * kSide], kTile + kPad);
      for (int r = 0; r < 2; ++r) {
        FragmentA of_a;
        wmma::load_matrix_sync(of_a, &tile_a[row + r * kSide][p], kDepth + kPad);
        for (int s = 0; s < 2; ++s) wmma::mma_sync(sums[r][s], of_a, of_b[s], sums[r][s]);
      }
    }
    __syncthreads();
  }
  // CUDA does not specify which lane holds which element: tiles that cross the edge go through shared memory.
  for (int r = 0; r < 2; ++r)
    for (int s = 0; s < 2; ++s) {
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

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const bool whole = n % 8 == 0 && k % 8 == 0 && cuda::aligned(x.a) && cuda::aligned(x.b);
  const bool direct = n % 8 == 0 && cuda::aligned(x.c, 32);  // required by store_matrix_sync
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), 0,
               reinterpret_cast<const __nv_bfloat16*>(x.a), reinterpret_cast<const __nv_bfloat16*>(x.b), x.c,
               m, n, k, whole, direct);
}

KLAB_VARIANT(MatmulBf16,
             {.run = run,
              .parent = "01_naive",
              .tiles = {kSide, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 3},
              .supported = [](const MatmulBf16::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
