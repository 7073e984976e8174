// matmul_bwd.cuda.03_warp_tile: one kernel for four kinds of operand, 8 by 8 elements per thread.
//
// CHANGE    the forward's warp tile: 128 x 128 elements per block, 64 x 32 a warp, 8 x 8 a thread. In shared
//           memory every tile has the sum's index outside, whichever way its matrix lies: an operand whose
//           rows run along the sum is transposed when it is stored, the other is copied.
// EXPECT    n³/8 + n³/8 floats from shared memory at four a load: 4 loads for 64 multiply-adds, no conflicts
//           in the inner loop. d_a transposes both operands, d_b neither; the transposed stores are free of conflicts
//           by a padding of four. At least 3 times the parent.
// NUMERICS  as the parent.
// NEEDS     8.4 KB of shared memory. Rows that are a multiple of 4 floats and matrices that begin on 16 bytes
//           for the fast path.
// SASS      LDG.128 STS.128 LDS.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 8, kOwn = 8, kThreads = 256, kPadded = kTile + 4;
constexpr int kWarpRows = 64, kWarpColumns = 32, kLanesAcross = 4;
static_assert(kTile * kDepth == 4 * kThreads, "a thread fetches four floats of each tile");

/// Four neighbors of a row, zeros from `count` on. `whole`: rows begin on 16 bytes.
template <bool whole>
__device__ __forceinline__ float4 fetch(const float* p, int64_t count) {
  if (count <= 0) return make_float4(0, 0, 0, 0);
  if constexpr (whole) return *reinterpret_cast<const float4*>(p);
  return make_float4(p[0], count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, count > 3 ? p[3] : 0);
}

/// tile[s][r] of an operand, s along the sum. `along`: the matrix is [height][sum], its rows run along the
/// sum, and it is transposed. Else it is [sum][height].
template <bool along, bool whole>
__device__ __forceinline__ void bring(float (&tile)[kDepth][kPadded], const float* __restrict__ matrix,
                                      int64_t height, int64_t length, int64_t r0, int64_t s0) {
  const int t = threadIdx.x;
  if constexpr (along) {
    const int r = t / (kDepth / 4), s = t % (kDepth / 4) * 4;
    const float4 four =
        fetch<whole>(matrix + (r0 + r) * length + s0 + s, r0 + r < height ? length - s0 - s : 0);
    tile[s][r] = four.x;
    tile[s + 1][r] = four.y;
    tile[s + 2][r] = four.z;
    tile[s + 3][r] = four.w;
  } else {
    const int s = t / (kTile / 4), r = t % (kTile / 4) * 4;
    *reinterpret_cast<float4*>(&tile[s][r]) =
        fetch<whole>(matrix + (s0 + s) * height + r0 + r, s0 + s < length ? height - r0 - r : 0);
  }
}

/// result[rows,columns] = sum over s < length of left(row, s) · right(s, column).
template <bool left_along, bool right_along, bool whole>
__global__ void __launch_bounds__(kThreads)
    product(const float* __restrict__ left, const float* __restrict__ right, float* __restrict__ result,
            int64_t rows, int64_t columns, int64_t length) {
  __shared__ __align__(16) float tile_left[kDepth][kPadded];
  __shared__ __align__(16) float tile_right[kDepth][kPadded];
  const int64_t across = (columns + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps_across = kTile / kWarpColumns;
  const int row = warp / warps_across * kWarpRows + lane / kLanesAcross * 4;        // and row + 32
  const int column = warp % warps_across * kWarpColumns + lane % kLanesAcross * 4;  // and column + 16
  float sum[kOwn][kOwn] = {};
  for (int64_t s0 = 0; s0 < length; s0 += kDepth) {
    bring<left_along, whole>(tile_left, left, rows, length, i0, s0);
    bring<right_along, whole>(tile_right, right, columns, length, j0, s0);
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kDepth; ++s) {
      const float4 a0 = *reinterpret_cast<const float4*>(&tile_left[s][row]);
      const float4 a1 = *reinterpret_cast<const float4*>(&tile_left[s][row + kWarpRows / 2]);
      const float4 b0 = *reinterpret_cast<const float4*>(&tile_right[s][column]);
      const float4 b1 = *reinterpret_cast<const float4*>(&tile_right[s][column + kWarpColumns / 2]);
      const float of_a[kOwn] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float of_b[kOwn] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int c = 0; c < kOwn; ++c) sum[r][c] += of_a[r] * of_b[c];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    const int64_t i = i0 + row + r % 4 + r / 4 * kWarpRows / 2;
    if (i >= rows) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t j = j0 + column + half * kWarpColumns / 2;
      float* to = result + i * columns + j;
      const float* from = sum[r] + 4 * half;
      if (whole && j < columns)
        *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
      for (int c = 0; !whole && c < 4; ++c)
        if (j + c < columns) to[c] = from[c];
    }
  }
}

unsigned blocks(int64_t rows, int64_t columns) {
  return unsigned((rows + kTile - 1) / kTile * ((columns + kTile - 1) / kTile));
}

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const bool whole = n % 4 == 0 && k % 4 == 0 && cuda::aligned(x.a) && cuda::aligned(x.b) &&
                     cuda::aligned(x.d_c) && cuda::aligned(x.d_a) && cuda::aligned(x.d_b);
  // d_a = d_c · Bᵀ: the sum over j runs along the rows of both.
  if (m > 0 && k > 0)
    cuda::launch(whole ? product<true, true, true> : product<true, true, false>, dim3(blocks(m, k)),
                 dim3(kThreads), 0, x.d_c, x.b, x.d_a, m, k, n);
  // d_b = Aᵀ · d_c: the sum over i runs down the columns of both.
  if (k > 0 && n > 0)
    cuda::launch(whole ? product<false, false, true> : product<false, false, false>, dim3(blocks(k, n)),
                 dim3(kThreads), 0, x.a, x.d_c, x.d_b, k, n, m);
}

KLAB_VARIANT(MatmulBwd, {.run = run,
                         .parent = "02_shared_tile",
                         .forward = "08_warp_tile",
                         .tiles = {4, kDepth, kTile},
                         .expect = {.shape = {1024, 1024, 1024}, .over_parent = 3}});

}  // namespace
}  // namespace klab
