// Samples of a warp that go through the layers of a network in registers, for mlp_fwd and mlp_bwd: each
// lane's result of mma.sync is its part of the next product's left factor, so that nothing passes through
// memory between layers.
#pragma once

#include <type_traits>

#include "kernels/common/mlp/device.h"
#include "kernels/common/mma.h"

namespace klab {
namespace {

constexpr int kSide = 16;

__device__ __forceinline__ uint32_t pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return uint32_t(__bfloat16_as_ushort(pair.y)) << 16 | __bfloat16_as_ushort(pair.x);
}

/// 16 samples of a warp as left factors of mma.sync: block b has channels 16b to 16b + 15. Element r of a
/// block is a pair of channels from column(r) on, of the sample row(r).
template <int kBlocks>
using Rows = uint32_t[kBlocks][4];
__device__ __forceinline__ int row(int r) { return int(threadIdx.x) % 32 / 4 + r % 2 * 8; }
__device__ __forceinline__ int column(int r) { return int(threadIdx.x) % 4 * 2 + r / 2 * 8; }
/// Returns the pair that becomes element r, from two results of 8 columns.
__device__ __forceinline__ const float* pair_of(const float (&sum)[2][4], int r) {
  return sum[r / 2] + r % 2 * 2;
}

/// Channel-major values of a warp's samples from i on, zeros beyond the edges.
template <int kBlocks>
__device__ __forceinline__ void load_rows(Rows<kBlocks>& h, const float* __restrict__ from, int64_t n,
                                          int64_t channels, int64_t i) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int64_t sample = i + row(r), c = b * kSide + column(r);
      const bool there = sample < n;
      h[b][r] = pack(there && c < channels ? from[c * n + sample] : 0,
                     there && c + 1 < channels ? from[(c + 1) * n + sample] : 0);
    }
}

/// The product of an element's type.
template <class T>
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, __half>)
    cuda::mma_m16n8k16_f16(sum, a, b, sum);
  else
    cuda::mma_m16n8k16_bf16(sum, a, b, sum);
}

/// Sums of 16 units from u0 on: rows · W^T (turned = false: W is [units][channels]), or of 16 channels: rows · W.
template <bool turned, int kBlocks, class T>
__device__ __forceinline__ void multiply(float (&sum)[2][4], const Rows<kBlocks>& rows, const T* w,
                                         int stride, int channels, int u0) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    if (b * kSide >= channels) break;
    uint32_t of_w[4];  // columns 0-7 at steps 0-7 and 8-15 of the sum, then columns 8-15
    if constexpr (turned)
      cuda::ldmatrix_x4_trans(of_w, w + (b * kSide + lane % 16) * stride + u0 + lane / 16 * 8);
    else
      cuda::ldmatrix_x4(of_w, w + (u0 + lane % 8 + lane / 16 * 8) * stride + b * kSide + lane / 8 % 2 * 8);
    const uint32_t low[2] = {of_w[0], of_w[1]}, high[2] = {of_w[2], of_w[3]};
    multiply_add<T>(sum[0], rows[b], low);
    multiply_add<T>(sum[1], rows[b], high);
  }
}

/// Computes rows = end(pair of sums, r, u), which packs element r of block u of rows · W^T or (turned) rows ·
/// W, sums of `terms` products.
template <bool turned, int kBlocks, class End>
__device__ __forceinline__ void layer(Rows<kBlocks>& rows, const __nv_bfloat16* w, int stride, int terms,
                                      int units, const End& end) {
  Rows<kBlocks> next = {};
#pragma unroll
  for (int u = 0; u < kBlocks; ++u) {
    if (u * kSide >= units) break;
    float sum[2][4] = {};
    multiply<turned>(sum, rows, w, stride, terms, u * kSide);
#pragma unroll
    for (int r = 0; r < 4; ++r) next[u][r] = end(pair_of(sum, r), r, u);
  }
#pragma unroll
  for (int u = 0; u < kBlocks; ++u)
#pragma unroll
    for (int r = 0; r < 4; ++r) rows[u][r] = next[u][r];
}

/// A hidden layer: rows = relu(W rows).
template <int kBlocks>
__device__ __forceinline__ void hidden_layer(Rows<kBlocks>& rows, const __nv_bfloat16* w, int from, int to) {
  layer<false>(rows, w, mlp_stride(from), from, to,
               [](const float* two, int, int) { return pack(fmaxf(two[0], 0), fmaxf(two[1], 0)); });
}

}  // namespace
}  // namespace klab
