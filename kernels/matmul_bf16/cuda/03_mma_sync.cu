// matmul_bf16.cuda.03_mma_sync: tiles in flight while others are multiplied, fragments by ldmatrix.
//
// CHANGE    a block has 128 x 128 of C and four warps of 64 x 64. Asynchronous copies of 16 bytes fill three pairs of tiles in
//           turn; columns of 16 bytes are exchanged within a row (swizzle), so that ldmatrix reads them without conflicts
//           or padding; mma.sync takes its factors from registers whose layout is specified.
// EXPECT    the parent reads each matrix n/64 times from L2 and waits for each tile; now n/128 times, and two tiles are
//           in flight. A warp reads 4 KB of shared memory for 32 products, 128 bytes each, where the parent reads 256.
//           At 2048 cubed L2 delivers 268 MB, some 50 us: three times the parent.
// NUMERICS  as the parent.
// NEEDS     compute capability 8.0; 96 KB of shared memory. Rows that are not multiples of 16 bytes are copied into wider ones.
// SASS      HMMA.BF16 LDSM LDGSTS.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/mma.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 64, kStages = 3;
constexpr int kThreads = 128, kWarpSide = 64;
constexpr int kDown = kWarpSide / 16, kAcross = kWarpSide / 8;  // products of a warp
constexpr int kEach = 8;                                        // elements of a copy

// Where a tile keeps chunk `chunk` of a row, 8 elements. ldmatrix reads 8 rows at one chunk: each in other banks.
//
// A has 8 chunks a row, B 16. Chunk c of row r is at c ^ (r % 8).
__device__ __forceinline__ int at_a(int row, int chunk) { return row * kDepth + (chunk ^ (row & 7)) * kEach; }
__device__ __forceinline__ int at_b(int row, int chunk) { return row * kTile + (chunk ^ (row & 7)) * kEach; }

struct Tiles {
  __nv_bfloat16 a[kTile * kDepth];  // [row][p]
  __nv_bfloat16 b[kDepth * kTile];  // [p][column]
};

struct Matrix {
  const __nv_bfloat16* data;
  int64_t rows, stride;  // multiples of 8 elements
};

/// Starts the copy of 8 neighbors; zeros where the matrix ends.
__device__ __forceinline__ void copy_chunk(__nv_bfloat16* to, const Matrix& from, int64_t row,
                                           int64_t column) {
  const bool inside = row < from.rows && column < from.stride;
  cuda::copy_async_zfill<16>(to, inside ? from.data + row * from.stride + column : from.data,
                             inside ? 16 : 0);
}

/// Starts the copies of the tiles at depth p0: eight chunks a thread from A, eight from B.
__device__ __forceinline__ void copy_tiles(Tiles& to, const Matrix& a, const Matrix& b, int64_t i0,
                                           int64_t j0, int64_t p0) {
  constexpr int across_a = kDepth / kEach, across_b = kTile / kEach;
#pragma unroll
  for (int e = int(threadIdx.x); e < kTile * across_a; e += kThreads) {
    const int r = e / across_a, s = e % across_a;
    copy_chunk(&to.a[at_a(r, s)], a, i0 + r, p0 + s * kEach);
  }
#pragma unroll
  for (int e = int(threadIdx.x); e < kDepth * across_b; e += kThreads) {
    const int r = e / across_b, s = e % across_b;
    copy_chunk(&to.b[at_b(r, s)], b, p0 + r, j0 + s * kEach);
  }
}

/// Multiplies the warp's parts of two tiles.
__device__ __forceinline__ void multiply_tiles(float (&sums)[kDown][kAcross][4], const Tiles& tiles, int row,
                                               int column, int lane) {
#pragma unroll
  for (int p = 0; p < kDepth; p += 16) {
    uint32_t of_a[kDown][4], of_b[kAcross / 2][4];
    // Lanes 0-15 name the 16 rows at the first chunk, lanes 16-31 the same rows at the second.
#pragma unroll
    for (int r = 0; r < kDown; ++r)
      cuda::ldmatrix_x4(of_a[r], &tiles.a[at_a(row + r * 16 + lane % 16, p / kEach + lane / 16)]);
      // The rows of B are steps of p, and a column's two halves of 8 steps must follow each other: transposed, two
      // columns of 8 at a time.
#pragma unroll
    for (int s = 0; s < kAcross / 2; ++s)
      cuda::ldmatrix_x4_trans(of_b[s], &tiles.b[at_b(p + lane % 16, column / kEach + 2 * s + lane / 16)]);
#pragma unroll
    for (int r = 0; r < kDown; ++r)
#pragma unroll
      for (int s = 0; s < kAcross; ++s) {
        const uint32_t pair[2] = {of_b[s / 2][s % 2 * 2], of_b[s / 2][s % 2 * 2 + 1]};
        cuda::mma_m16n8k16_bf16(sums[r][s], of_a[r], pair, sums[r][s]);
      }
  }
}

__global__ void __launch_bounds__(kThreads, 2)
    multiply(Matrix a, Matrix b, float* __restrict__ c, int64_t m, int64_t n, int64_t k, bool pairs) {
  KLAB_DYNAMIC_SHARED(Tiles, tiles);
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = warp / 2 * kWarpSide, column = warp % 2 * kWarpSide;
  float sums[kDown][kAcross][4] = {};
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage * kDepth < k) copy_tiles(tiles[stage], a, b, i0, j0, stage * kDepth);
    cuda::copy_async_commit();  // empty groups too, so that their number tells which have landed
  }
  int now = 0, next = kStages - 1;
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    cuda::copy_async_wait<kStages - 2>();
    __syncthreads();  // all threads' copies have landed, and no thread reads the tiles that are filled next
    const int64_t ahead = p0 + (kStages - 1) * kDepth;
    if (ahead < k) copy_tiles(tiles[next], a, b, i0, j0, ahead);
    cuda::copy_async_commit();
    multiply_tiles(sums, tiles[now], row, column, lane);
    now = now + 1 == kStages ? 0 : now + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int s = 0; s < kAcross; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t i = i0 + row + r * 16 + half * 8 + lane / 4, j = j0 + column + s * 8 + lane % 4 * 2;
        const float low = sums[r][s][2 * half], high = sums[r][s][2 * half + 1];
        if (i >= m || j >= n) continue;
        if (pairs) {
          *reinterpret_cast<float2*>(c + i * n + j) = make_float2(low, high);
        } else {
          c[i * n + j] = low;
          if (j + 1 < n) c[i * n + j + 1] = high;
        }
      }
}

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const AlignedRows<__nv_bfloat16> a(x.a, m, k), b(x.b, k, n);
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  constexpr size_t bytes = kStages * sizeof(Tiles);
  cuda::allow_shared(multiply, bytes);
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), bytes,
               Matrix{a.data(), m, a.stride()}, Matrix{b.data(), k, b.stride()}, x.c, m, n, k,
               n % 2 == 0 && reinterpret_cast<uintptr_t>(x.c) % 8 == 0);
}

KLAB_VARIANT(MatmulBf16,
             {.run = run,
              .parent = "02_wmma",
              .tiles = {16, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 3},
              .supported = [](const MatmulBf16::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
