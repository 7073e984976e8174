// Squares of 16 on tensor cores through nvcuda::wmma, for the networks of mlp_fwd and mlp_bwd: factors in bfloat16 from
// shared memory, sums in float.
#pragma once

#include <type_traits>

#include "kernels/common/cuda.h"

namespace klab {
namespace {
namespace wmma = nvcuda::wmma;

constexpr int kSide = 16;

using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;
template <class Layout>
using Left = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __nv_bfloat16, Layout>;
template <class Layout>
using Right = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, Layout>;

/// Adds to the sums of the square at (r, c) left · right over `depth`. Strides are distances of stored rows;
/// a transposed factor is only read with the other layout.
template <class LeftLayout, class RightLayout>
__device__ __forceinline__ void multiply(Sums& sums, const __nv_bfloat16* left, int left_stride, int r,
                                         const __nv_bfloat16* right, int right_stride, int c, int depth) {
  constexpr bool left_rows = std::is_same_v<LeftLayout, wmma::row_major>;
  constexpr bool right_rows = std::is_same_v<RightLayout, wmma::row_major>;
  for (int k = 0; k < depth; k += kSide) {
    Left<LeftLayout> a;
    Right<RightLayout> b;
    wmma::load_matrix_sync(a, left + (left_rows ? r * left_stride + k : k * left_stride + r),
                           unsigned(left_stride));
    wmma::load_matrix_sync(b, right + (right_rows ? k * right_stride + c : c * right_stride + k),
                           unsigned(right_stride));
    wmma::mma_sync(sums, a, b, sums);
  }
}

/// Calls f(r, c) for the squares of [rows, columns], shared out among the block's `warps`.
template <class F>
__device__ __forceinline__ void each_square(int warps, int rows, int columns, const F& f) {
  for (int t = int(threadIdx.x) / 32; t < rows / kSide * (columns / kSide); t += warps)
    f(t / (columns / kSide) * kSide, t % (columns / kSide) * kSide);
}

/// Calls use(row, column, sum) for the elements of a warp's square, eight in each lane. The layout of a
/// fragment is unspecified, so they go through `square`, 256 floats of shared memory of this warp.
template <class Use>
__device__ __forceinline__ void unfold(float* square, const Sums& sums, const Use& use) {
  wmma::store_matrix_sync(square, sums, kSide, wmma::mem_row_major);
  __syncwarp();
  for (int e = int(threadIdx.x) % 32; e < kSide * kSide; e += 32) use(e / kSide, e % kSide, square[e]);
  __syncwarp();
}

}  // namespace
}  // namespace klab
