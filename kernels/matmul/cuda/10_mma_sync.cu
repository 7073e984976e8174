// matmul.cuda.10_mma_sync: the matrix instruction itself, fed by ldmatrix from swizzled tiles.
//
// CHANGE    mma.sync in place of fragments of unspecified layout. A and B are rounded once, by a kernel
//           before, into copies that are padded to whole tiles: so tiles come by asynchronous copies again,
//           three pairs of them in turn, without a question about edges. Columns of 16 bytes are exchanged
//           within each row (swizzle), which frees ldmatrix of conflicts without padding.
// EXPECT    a warp feeds 16 mma.sync with 6 ldmatrix. Nothing is converted twice: the parent converts each
//           float of A n/128 times and of B m/128 times. The copies cost 6 bytes of traffic for each float of
//           A and B, little where n is large. At least 1.5 times the parent at 2048.
// NUMERICS  as the parent.
// NEEDS     compute capability 8.0; 48 KB of shared memory; 2 bytes of device memory for each element of A
//           and B.
// SASS      HMMA.BF16 LDSM LDGSTS.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/round_matrix.h"
#include "kernels/common/mma.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 32, kStages = 3;
constexpr int kThreads = 256, kWarpRows = 64, kWarpColumns = 32;
constexpr int kDown = kWarpRows / 16, kAcross = kWarpColumns / 8;  // products of a warp

// Where a tile keeps the 8 elements (16 bytes, one "chunk") with number `chunk` of a row. ldmatrix reads 8
// rows at one chunk; each must be in other banks.
//
//   A, 4 chunks a row: two rows are 128 bytes, all the banks. Chunk c of rows 2r and 2r+1 is at c ^ (r % 4).
//   B, 16 chunks a row: chunk c of row r is at c ^ (r % 8).
__device__ __forceinline__ int at_a(int row, int chunk) { return row * kDepth + (chunk ^ (row / 2 & 3)) * 8; }
__device__ __forceinline__ int at_b(int row, int chunk) { return row * kTile + (chunk ^ (row & 7)) * 8; }

struct Tiles {
  __nv_bfloat16 a[kTile * kDepth];  // [row][p]
  __nv_bfloat16 b[kDepth * kTile];  // [p][column]
};

/// Asks for the tiles at depth p0: two copies of 16 bytes per thread from A, two from B.
__device__ __forceinline__ void copy_tiles(Tiles& to, const __nv_bfloat16* __restrict__ a,
                                           const __nv_bfloat16* __restrict__ b, int64_t stride_a,
                                           int64_t stride_b, int64_t i0, int64_t j0, int64_t p0) {
  constexpr int across_a = kDepth / 8, across_b = kTile / 8;
#pragma unroll
  for (int e = int(threadIdx.x); e < kTile * across_a; e += kThreads) {
    const int r = e / across_a, s = e % across_a;
    cuda::copy_async<16>(&to.a[at_a(r, s)], a + (i0 + r) * stride_a + p0 + s * 8);
  }
#pragma unroll
  for (int e = int(threadIdx.x); e < kDepth * across_b; e += kThreads) {
    const int r = e / across_b, s = e % across_b;
    cuda::copy_async<16>(&to.b[at_b(r, s)], b + (p0 + r) * stride_b + j0 + s * 8);
  }
}

/// c[m,n] from copies a [.., depth] and b [depth, stride_b], both padded to whole tiles.
__global__ void __launch_bounds__(kThreads)
    multiply(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, float* __restrict__ c,
             int64_t m, int64_t n, int64_t depth, int64_t stride_b, bool pairs) {
  KLAB_DYNAMIC_SHARED(Tiles, tiles);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t across = stride_b / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = warp / (kTile / kWarpColumns) * kWarpRows;
  const int column = warp % (kTile / kWarpColumns) * kWarpColumns;
  float sums[kDown][kAcross][4] = {};
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage * kDepth < depth) copy_tiles(tiles[stage], a, b, depth, stride_b, i0, j0, stage * kDepth);
    cuda::copy_async_commit();  // empty groups too, so that their number tells which have landed
  }
  int now = 0, next = kStages - 1;
  for (int64_t p0 = 0; p0 < depth; p0 += kDepth) {
    cuda::copy_async_wait<kStages - 2>();
    __syncthreads();  // all threads' copies have landed, and no thread reads the tiles that are filled next
    const int64_t ahead = p0 + (kStages - 1) * kDepth;
    if (ahead < depth) copy_tiles(tiles[next], a, b, depth, stride_b, i0, j0, ahead);
    cuda::copy_async_commit();
#pragma unroll
    for (int p = 0; p < kDepth; p += 16) {
      uint32_t of_a[kDown][4], of_b[kAcross / 2][4];
      // Lanes 0-15 name the 16 rows at the first chunk, lanes 16-31 the same rows at the second.
#pragma unroll
      for (int r = 0; r < kDown; ++r)
        cuda::ldmatrix_x4(of_a[r], &tiles[now].a[at_a(row + r * 16 + lane % 16, p / 8 + lane / 16)]);
        // The rows of B are steps of p, and a column's two halves of 8 steps must follow each other:
        // transposed, two columns of 8 at a time.
#pragma unroll
      for (int s = 0; s < kAcross / 2; ++s)
        cuda::ldmatrix_x4_trans(of_b[s], &tiles[now].b[at_b(p + lane % 16, column / 8 + 2 * s + lane / 16)]);
#pragma unroll
      for (int r = 0; r < kDown; ++r)
#pragma unroll
        for (int s = 0; s < kAcross; ++s) {
          const uint32_t pair[2] = {of_b[s / 2][s % 2 * 2], of_b[s / 2][s % 2 * 2 + 1]};
          cuda::mma_m16n8k16_bf16(sums[r][s], of_a[r], pair, sums[r][s]);
        }
    }
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

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t rows = padded(m, kTile), columns = padded(n, kTile), depth = padded(k, kDepth);
  cuda::Scratch scratch_a(size_t(rows * depth) * sizeof(__nv_bfloat16));
  cuda::Scratch scratch_b(size_t(depth * columns) * sizeof(__nv_bfloat16));
  auto* a = scratch_a.as<__nv_bfloat16>();
  auto* b = scratch_b.as<__nv_bfloat16>();
  round_matrix(x.a, m, k, rows, depth, a);
  round_matrix(x.b, k, n, depth, columns, b);
  constexpr size_t bytes = kStages * sizeof(Tiles);
  cuda::allow_shared(multiply, bytes);
  cuda::launch(multiply, dim3(unsigned(rows / kTile * (columns / kTile))), dim3(kThreads), bytes, a, b, x.c,
               m, n, depth, columns, n % 2 == 0 && cuda::aligned(x.c, 8));
}

KLAB_VARIANT(Matmul,
             {.run = run,
              .parent = "09_wmma",
              .numerics = {.unit = Unit::bf16},
              .tiles = {16, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.5},
              .supported = [](const Matmul::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
