// What a block keeps of a network from its first sample to its last, for mlp_bwd: the weights of all layers in shared
// memory, next to a tile's activations and gradients, and the gradient of the weights in accumulators of mma.sync.
#pragma once

#include "kernels/common/mlp/rows.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int kWide = 4;               // blocks of 16 units of a hidden layer, and the most of a tile's rows
constexpr int kWidth = kWide * kSide;  // narrower layers are filled up with zeros
constexpr int kWidthStride = kWidth + 8, kOutStride = kSide + 8;

/// Places in shared memory, in elements, for kIn blocks of 16 inputs and kHidden layers: weights, then the activations
/// and the gradients of all layers.
template <int kIn, int kHidden>
struct Places {
  static constexpr int kInputs = kIn * kSide, kInStride = kInputs + 8;
  /// Distances of rows of layer l's factors: W and h.
  static constexpr int from_stride(int l) { return l == 0 ? kInStride : kWidthStride; }
  static constexpr int to_stride(int l) { return l == kHidden ? kOutStride : kWidthStride; }
  static constexpr int units(int l) { return l == kHidden ? kSide : kWidth; }
  static constexpr int weights(int l) {
    return l == 0 ? 0 : weights(l - 1) + units(l - 1) * from_stride(l - 1);
  }
  static constexpr int h(int l) {
    return l == 0 ? weights(kHidden + 1) : h(l - 1) + kSamples * from_stride(l - 1);
  }
  static constexpr int d(int l) {
    return l == 0 ? h(kHidden) + kSamples * from_stride(kHidden) : d(l - 1) + kSamples * to_stride(l - 1);
  }
  static constexpr size_t kBytes = size_t(d(kHidden) + kSamples * kOutStride) * sizeof(__nv_bfloat16);
};

/// A block's sums of all layers in global memory: [units][whole inputs] of each.
template <int kIn>
__host__ __device__ inline int copy_begin(int l) {
  return l == 0 ? 0 : kWidth * kIn * kSide + (l - 1) * kWidth * kWidth;
}
template <int kIn, int kHidden>
__host__ __device__ inline int copy_size() {
  return copy_begin<kIn>(kHidden) + kSide * kWidth;
}

/// Copies all weights, rounded, zeros up to the layers' whole sizes.
template <int kIn, int kHidden>
__device__ __forceinline__ void bring_all(__nv_bfloat16* shared, const MlpLayers& s,
                                          const float* __restrict__ weights) {
  using At = Places<kIn, kHidden>;
#pragma unroll
  for (int l = 0; l <= kHidden; ++l) {
    const int from = int(s.from(l)), to = int(s.to(l)), columns = At::from_stride(l) - 8;
    const float* w = weights + s.weight_begin(l);
    for (int e = int(threadIdx.x); e < At::units(l) * columns; e += kThreads) {
      const int r = e / columns, c = e % columns;
      shared[At::weights(l) + r * At::from_stride(l) + c] =
          __float2bfloat16(r < to && c < from ? w[r * from + c] : 0);
    }
  }
}

/// Loads channel-major values of 16 samples from i on in the order of Rows, zeros beyond the edges. Whole rows of
/// whole blocks need no comparison.
template <int kBlocks>
__device__ __forceinline__ void load_raw(float (&raw)[kBlocks][4][2], const float* __restrict__ from,
                                         int64_t n, int channels, int64_t i) {
  const float* at = from + column(0) * n + i + row(0);
  if (i + kSide <= n && channels == kBlocks * kSide) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b, at += kSide * n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float* p = at + (e / 2 * 8 + e % 2) * n;
        raw[b][e / 2 * 2][e % 2] = p[0];
        raw[b][e / 2 * 2 + 1][e % 2] = p[8];
      }
    return;
  }
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int c = b * kSide + column(r) + e;
        const int64_t sample = i + row(r);
        raw[b][r][e] = sample < n && c < channels ? from[c * n + sample] : 0;
      }
}

/// Copies this warp's rows to shared memory: [sample][channel].
template <int kCopied>
__device__ __forceinline__ void keep(__nv_bfloat16* shared, int stride, const Rows<kWide>& rows) {
  const int warp = int(threadIdx.x) / 32;
#pragma unroll
  for (int b = 0; b < kCopied; ++b)
#pragma unroll
    for (int r = 0; r < 4; ++r)
      *reinterpret_cast<uint32_t*>(&shared[(warp * kSide + row(r)) * stride + b * kSide + column(r)]) =
          rows[b][r];
}

/// sums += D^T h over 16 samples, for 16 units and kSquares times 16 channels.
template <int kSquares>
__device__ __forceinline__ void add_products(float (&sum)[kSquares][2][4], const __nv_bfloat16* d,
                                             int d_stride, const __nv_bfloat16* h, int h_stride) {
  const int lane = int(threadIdx.x) % 32;
  uint32_t of_d[4];
  cuda::ldmatrix_x4_trans(of_d, d + (lane % 8 + lane / 16 * 8) * d_stride + lane / 8 % 2 * 8);
#pragma unroll
  for (int q = 0; q < kSquares; ++q) {
    uint32_t of_h[4];
    cuda::ldmatrix_x4_trans(of_h, h + lane % 16 * h_stride + q * kSide + lane / 16 * 8);
    const uint32_t low[2] = {of_h[0], of_h[1]}, high[2] = {of_h[2], of_h[3]};
    cuda::mma_m16n8k16_bf16(sum[q][0], of_d, low, sum[q][0]);
    cuda::mma_m16n8k16_bf16(sum[q][1], of_d, high, sum[q][1]);
  }
}

/// The squares of the weights' gradient that a warp owns. The first and the hidden layers have four rows of squares, two warps a row;
/// the last layer has one row, and each warp 8 columns of it.
template <int kIn, int kHidden>
struct Sums {
  float first[kIn / 2][2][4] = {};
  float middle[kHidden > 1 ? kHidden - 1 : 1][kWide / 2][2][4] = {};
  float last[4] = {};

  __device__ __forceinline__ void add_tile(const __nv_bfloat16* shared) {
    using At = Places<kIn, kHidden>;
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const int unit = warp / 2 * kSide, part = warp % 2;
#pragma unroll 2
    for (int i = 0; i < kSamples; i += kSide) {
      add_products(first, shared + At::d(0) + i * kWidthStride + unit, kWidthStride,
                   shared + At::h(0) + i * At::kInStride + part * At::kInputs / 2, At::kInStride);
#pragma unroll
      for (int l = 1; l < kHidden; ++l)
        add_products(middle[l - 1], shared + At::d(l) + i * kWidthStride + unit, kWidthStride,
                     shared + At::h(l) + i * kWidthStride + part * kWidth / 2, kWidthStride);
      uint32_t of_d[4], of_h[2];
      const __nv_bfloat16* d = shared + At::d(kHidden) + i * kOutStride;
      const __nv_bfloat16* h = shared + At::h(kHidden) + i * kWidthStride;
      cuda::ldmatrix_x4_trans(of_d, d + (lane % 8 + lane / 16 * 8) * kOutStride + lane / 8 % 2 * 8);
      cuda::ldmatrix_x2_trans(of_h, h + lane % 16 * kWidthStride + warp * 8);
      cuda::mma_m16n8k16_bf16(last, of_d, of_h, last);
    }
  }

  __device__ __forceinline__ void write(float* __restrict__ copy) const {
    const int warp = int(threadIdx.x) / 32, unit = warp / 2 * kSide, part = warp % 2;
#pragma unroll
    for (int q = 0; q < kIn / 2; ++q)
      write_square(copy + unit * kIn * kSide + part * kIn * kSide / 2 + q * kSide, kIn * kSide, first[q]);
#pragma unroll
    for (int l = 1; l < kHidden; ++l)
#pragma unroll
      for (int q = 0; q < kWide / 2; ++q)
        write_square(copy + copy_begin<kIn>(l) + unit * kWidth + part * kWidth / 2 + q * kSide, kWidth,
                     middle[l - 1][q]);
    float* const to = copy + copy_begin<kIn>(kHidden) + warp * 8 + column(0);
#pragma unroll
    for (int r = 0; r < 2; ++r)
      *reinterpret_cast<float2*>(to + row(r) * kWidth) = make_float2(last[2 * r], last[2 * r + 1]);
  }

 private:
  static __device__ __forceinline__ void write_square(float* to, int columns, const float (&sum)[2][4]) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
      *reinterpret_cast<float2*>(to + row(r) * columns + column(r)) =
          make_float2(pair_of(sum, r)[0], pair_of(sum, r)[1]);
  }
};

}  // namespace
}  // namespace klab
