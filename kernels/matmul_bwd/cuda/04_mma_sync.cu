// matmul_bwd.cuda.04_mma_sync: tensor cores, and a load that transposes its matrices.
//
// CHANGE    the forward's matrix instructions on copies rounded to bfloat16. Nothing is transposed, neither
//           in memory nor in shared memory: a tile comes as it lies, and ldmatrix hands out its 8 x 8
//           matrices straight or transposed.
// EXPECT    three matrices are rounded once, d_c serves both products. 6 ldmatrix feed 16 mma.sync in either
//           product, so that d_a and d_b take the same time. At least 3 times the parent at 1024.
// NUMERICS  bfloat16 factors, float sums: with u = 2^-8 at most (2u + u²)|a||b| for a product, within γ_2(u)
//           of the class, and length·2^-24 for the sum.
// NEEDS     compute capability 8.0; 48 KB of shared memory; 2 bytes of device memory for each element of A, B
//           and d_c.
// SASS      HMMA.BF16 LDSM.M88 LDSM.MT88 LDGSTS.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/round_matrix.h"
#include "kernels/common/mma.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 32, kStages = 3;
constexpr int kThreads = 256, kWarpRows = 64, kWarpColumns = 32;
constexpr int kDown = kWarpRows / 16, kAcross = kWarpColumns / 8;  // products of a warp

// A tile is either [128][32], `along` the sum, or [32][128]. Columns of 8 elements (16 bytes, "chunks") are
// exchanged within a row, so that 8 rows at one chunk are in different banks.
template <bool along>
__device__ __forceinline__ int at(int row, int chunk) {
  return along ? row * kDepth + (chunk ^ (row / 2 & 3)) * 8 : row * kTile + (chunk ^ (row & 7)) * 8;
}

struct Tiles {
  __nv_bfloat16 left[kTile * kDepth], right[kTile * kDepth];
};

/// Copies 128 elements of an operand from r0 on and 32 steps of the sum from s0 on, as they lie.
template <bool along>
__device__ __forceinline__ void copy_ahead(__nv_bfloat16* to, const __nv_bfloat16* __restrict__ matrix,
                                           int64_t stride, int64_t r0, int64_t s0) {
  constexpr int across = (along ? kDepth : kTile) / 8;
  const __nv_bfloat16* from = matrix + (along ? r0 * stride + s0 : s0 * stride + r0);
#pragma unroll
  for (int e = int(threadIdx.x); e < kTile * kDepth / 8; e += kThreads)
    cuda::copy_async<16>(&to[at<along>(e / across, e % across)], from + e / across * stride + e % across * 8);
}

/// 16 rows by 16 steps. Matrices of 8 x 8 in the order that mma.sync wants: rows 0-7 and 8-15 at steps 0-7,
/// then both at steps 8-15.
template <bool along>
__device__ __forceinline__ void load_left(uint32_t (&r)[4], const __nv_bfloat16* tile, int row, int step) {
  const int lane = threadIdx.x % 32;
  if constexpr (along)
    cuda::ldmatrix_x4(r, &tile[at<true>(row + lane % 16, step / 8 + lane / 16)]);
  else
    cuda::ldmatrix_x4_trans(r, &tile[at<false>(step + lane % 8 + lane / 16 * 8, row / 8 + lane / 8 % 2)]);
}
/// 16 steps by 16 columns: columns 0-7 at steps 0-7 and 8-15, then columns 8-15.
template <bool along>
__device__ __forceinline__ void load_right(uint32_t (&r)[4], const __nv_bfloat16* tile, int column,
                                           int step) {
  const int lane = threadIdx.x % 32;
  if constexpr (along)
    cuda::ldmatrix_x4(r, &tile[at<true>(column + lane % 8 + lane / 16 * 8, step / 8 + lane / 8 % 2)]);
  else
    cuda::ldmatrix_x4_trans(r, &tile[at<false>(step + lane % 16, column / 8 + lane / 16)]);
}

/// result[rows,columns] = sum over s < length of left(row, s) · right(s, column); operands padded to whole
/// tiles.
template <bool left_along, bool right_along>
__global__ void __launch_bounds__(kThreads)
    product(const __nv_bfloat16* __restrict__ left, int64_t left_stride,
            const __nv_bfloat16* __restrict__ right, int64_t right_stride, float* __restrict__ result,
            int64_t rows, int64_t columns, int64_t length, bool pairs) {
  KLAB_DYNAMIC_SHARED(Tiles, tiles);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t across = (columns + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = warp / (kTile / kWarpColumns) * kWarpRows;
  const int column = warp % (kTile / kWarpColumns) * kWarpColumns;
  const auto ask_both = [&](Tiles& to, int64_t s0) {
    if (s0 < length) {
      copy_ahead<left_along>(to.left, left, left_stride, i0, s0);
      copy_ahead<right_along>(to.right, right, right_stride, j0, s0);
    }
    cuda::copy_async_commit();  // empty groups too, so that their number tells which have landed
  };
  float sums[kDown][kAcross][4] = {};
  for (int stage = 0; stage < kStages - 1; ++stage) ask_both(tiles[stage], stage * kDepth);
  int now = 0, next = kStages - 1;
  for (int64_t s0 = 0; s0 < length; s0 += kDepth) {
    cuda::copy_async_wait<kStages - 2>();
    __syncthreads();
    ask_both(tiles[next], s0 + (kStages - 1) * kDepth);
#pragma unroll
    for (int s = 0; s < kDepth; s += 16) {
      uint32_t of_left[kDown][4], of_right[kAcross / 2][4];
#pragma unroll
      for (int r = 0; r < kDown; ++r) load_left<left_along>(of_left[r], tiles[now].left, row + 16 * r, s);
#pragma unroll
      for (int c = 0; c < kAcross / 2; ++c)
        load_right<right_along>(of_right[c], tiles[now].right, column + 16 * c, s);
#pragma unroll
      for (int r = 0; r < kDown; ++r)
#pragma unroll
        for (int c = 0; c < kAcross; ++c) {
          const uint32_t pair[2] = {of_right[c / 2][c % 2 * 2], of_right[c / 2][c % 2 * 2 + 1]};
          cuda::mma_m16n8k16_bf16(sums[r][c], of_left[r], pair, sums[r][c]);
        }
    }
    now = now + 1 == kStages ? 0 : now + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int c = 0; c < kAcross; ++c)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t i = i0 + row + r * 16 + half * 8 + lane / 4, j = j0 + column + c * 8 + lane % 4 * 2;
        const float low = sums[r][c][2 * half], high = sums[r][c][2 * half + 1];
        if (i >= rows || j >= columns) continue;
        if (pairs) {
          *reinterpret_cast<float2*>(result + i * columns + j) = make_float2(low, high);
        } else {
          result[i * columns + j] = low;
          if (j + 1 < columns) result[i * columns + j + 1] = high;
        }
      }
}

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const int64_t rows = padded(m, kTile), columns = padded(n, kTile), depth = padded(k, kTile);
  cuda::Scratch scratch_a(size_t(rows * depth) * sizeof(__nv_bfloat16));
  cuda::Scratch scratch_b(size_t(depth * columns) * sizeof(__nv_bfloat16));
  cuda::Scratch scratch_c(size_t(rows * columns) * sizeof(__nv_bfloat16));
  auto* a = scratch_a.as<__nv_bfloat16>();
  auto* b = scratch_b.as<__nv_bfloat16>();
  auto* d_c = scratch_c.as<__nv_bfloat16>();
  round_matrix(x.a, m, k, rows, depth, a);
  round_matrix(x.b, k, n, depth, columns, b);
  round_matrix(x.d_c, m, n, rows, columns, d_c);
  constexpr size_t bytes = kStages * sizeof(Tiles);
  const dim3 block(kThreads);
  // d_a = d_c · Bᵀ: the sum over j runs along the rows of both.
  if (m > 0 && k > 0) {
    cuda::allow_shared(product<true, true>, bytes);
    cuda::launch(product<true, true>, dim3(unsigned(rows / kTile * (depth / kTile))), block, bytes, d_c,
                 columns, b, columns, x.d_a, m, k, n, k % 2 == 0 && cuda::aligned(x.d_a, 8));
  }
  // d_b = Aᵀ · d_c: the sum over i runs down the columns of both.
  if (k > 0 && n > 0) {
    cuda::allow_shared(product<false, false>, bytes);
    cuda::launch(product<false, false>, dim3(unsigned(depth / kTile * (columns / kTile))), block, bytes, a,
                 depth, d_c, columns, x.d_b, k, n, m, n % 2 == 0 && cuda::aligned(x.d_b, 8));
  }
}

KLAB_VARIANT(MatmulBwd,
             {.run = run,
              .parent = "03_warp_tile",
              .forward = "10_mma_sync",
              .numerics = {.unit = Unit::bf16},
              .tiles = {16, kDepth, kTile},
              .expect = {.shape = {1024, 1024, 1024}, .over_parent = 3},
              .supported = [](const MatmulBwd::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
