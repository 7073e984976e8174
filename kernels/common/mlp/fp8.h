// Networks of bytes on tensor cores, for mlp_fwd and mlp_bwd: factors of e4m3, gradients of e5m2, sums in
// float.
//
// e4m3 has 4 digits and reaches from 2^-9 to 448, 18 powers of two. So each sample has a power of two of its
// own, which scales its largest activation to between 2^7 and 2^8, and each layer's matrix has one. Both are
// kept as integers and removed from the sums by a product that does not round. (A scale of amax / 448 would
// use 448's last half octave, and round.) Infinities become the largest number, as in the instruction.
//
// A product of mma.m16n8k32 needs four neighbors along k in a lane, and returns two. The order of k is free
// if it is the same in both factors: byte 4·in + e of 16 of them is channel 8·(e / 2) + 2·in + e % 2, which
// the lane has from two products of 8 columns. Weights are copied to shared memory in that order.
#pragma once

#include "kernels/common/fp8.h"
#include "kernels/common/mlp/halves.h"

namespace klab {
namespace {

constexpr int kBytes = 32;  // channels of a block: the depth of one product

/// 16 samples of a warp as left factors: block b has channels 32b to 32b + 31. Byte e of element r belongs to the sample row8(r) and
/// the channel 32b + 16·(r / 2) + 8·(e / 2) + 2·(lane % 4) + e % 2.
template <int kBlocks>
using ByteRows = uint32_t[kBlocks][4];
/// The same as sums: of block b, product t of 8 columns. Element r is of the sample row8(r / 2) and the channel channel_of(b, t, r).
template <int kBlocks>
using ByteSums = float[kBlocks][4][4];

/// A lane's samples: two of the 16, `half` of them.
__device__ __forceinline__ int row8(int half) { return int(threadIdx.x) % 32 / 4 + half % 2 * 8; }
__device__ __forceinline__ int channel_of(int b, int t, int r) {
  return b * kBytes + t * 8 + int(threadIdx.x) % 4 * 2 + r % 2;
}
/// Returns the byte of a channel within a row.
__host__ __device__ inline int byte_of(int channel) {
  return channel / 16 * 16 + channel % 8 / 2 * 4 + channel % 16 / 8 * 2 + channel % 2;
}

/// Distance of rows of bytes in shared memory: an odd multiple of 16, so that 8 rows begin in different banks.
__host__ __device__ inline int byte_stride(int64_t channels) {
  return int(channels + kBytes - 1) / kBytes * kBytes + 16;
}

struct E4m3 {
  static constexpr int kTop = 7;  // the largest number lies from 2^7 on
  static __device__ __forceinline__ uint32_t pair(float low, float high) {
    return cuda::e4m3_pair(low, high);
  }
  static __device__ __forceinline__ void multiply_add(float (&sum)[4], const uint32_t (&a)[4],
                                                      const uint32_t (&b)[2]) {
    cuda::mma_m16n8k32_e4m3(sum, a, b, sum);
  }
};
struct E5m2 {
  static constexpr int kTop = 14;
  static __device__ __forceinline__ uint32_t pair(float low, float high) {
    return cuda::e5m2_pair(low, high);
  }
  static __device__ __forceinline__ void multiply_add(float (&sum)[4], const uint32_t (&a)[4],
                                                      const uint32_t (&b)[2]) {
    cuda::mma_m16n8k32_e5m2_e4m3(sum, a, b, sum);
  }
};

/// Returns the power of two that scales `most` to the format's top; see exponent_for().
template <class Format>
__device__ __forceinline__ int byte_exponent(float most) {
  return exponent_for(most) + Format::kTop - 14;
}
/// Returns the exponent of a layer's matrix from the one that find_exponents() found for halves.
__device__ __forceinline__ int byte_exponent_of_weights(int of_halves) { return of_halves + E4m3::kTop - 14; }

/// Element r of block b of the rows that the sums become.
template <class Format, int kBlocks>
__device__ __forceinline__ uint32_t bytes_of_sums(const ByteSums<kBlocks>& sums, int b, int r) {
  const float *low = sums[b][r / 2 * 2] + r % 2 * 2, *high = sums[b][r / 2 * 2 + 1] + r % 2 * 2;
  return Format::pair(high[0], high[1]) << 16 | Format::pair(low[0], low[1]);
}

/// rows = sums as bytes. Each sample's sums are brought to the format's top, and e, its two samples' exponents, become those of the
/// rows; the sums stay as they were rounded from.
template <class Format, int kBlocks>
__device__ __forceinline__ void round_bytes(ByteRows<kBlocks>& rows, int (&e)[2], ByteSums<kBlocks>& sums) {
  float most[2] = {};
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int k = 0; k < 16; ++k) most[k % 4 / 2] = fmaxf(most[k % 4 / 2], fabsf(sums[b][k / 4][k % 4]));
  int more[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    // A sample's channels are in four lanes.
    most[half] = fmaxf(most[half], __shfl_xor_sync(~0U, most[half], 1));
    most[half] = fmaxf(most[half], __shfl_xor_sync(~0U, most[half], 2));
    more[half] = byte_exponent<Format>(most[half]);
    e[half] += more[half];
  }
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int k = 0; k < 16; ++k) sums[b][k / 4][k % 4] = times_power(sums[b][k / 4][k % 4], more[k % 4 / 2]);
#pragma unroll
    for (int r = 0; r < 4; ++r) rows[b][r] = bytes_of_sums<Format, kBlocks>(sums, b, r);
  }
}

/// Channel-major values of a warp's samples from i on, zeros beyond the edges.
template <int kBlocks>
__device__ __forceinline__ void load_values(ByteSums<kBlocks>& values, const float* __restrict__ from,
                                            int64_t n, int64_t channels, int64_t i) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const int64_t sample = i + row8(k % 4 / 2), c = channel_of(b, k / 4, k % 4);
      values[b][k / 4][k % 4] = sample < n && c < channels ? from[c * n + sample] : 0;
    }
}

/// Sums of 16 units from u0 on: rows · W^T with W as [unit][byte_of(channel)].
template <class Format, int kBlocks>
__device__ __forceinline__ void multiply_bytes(float (&first)[4], float (&second)[4],
                                               const ByteRows<kBlocks>& rows, const uint8_t* w, int stride,
                                               int channels, int u0) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    if (b * kBytes >= channels) break;
    uint32_t of_w[4];  // units 0-7 at depths 0-15 and 16-31, then units 8-15
    cuda::ldmatrix_x4(of_w, w + (u0 + lane % 8 + lane / 16 * 8) * stride + b * kBytes + lane / 8 % 2 * 16);
    const uint32_t low[2] = {of_w[0], of_w[1]}, high[2] = {of_w[2], of_w[3]};
    Format::multiply_add(first, rows[b], low);
    Format::multiply_add(second, rows[b], high);
  }
}

/// sums = rows · W^T for all units.
template <class Format, int kBlocks>
__device__ __forceinline__ void layer_of_bytes(ByteSums<kBlocks>& sums, const ByteRows<kBlocks>& rows,
                                               const uint8_t* w, int stride, int channels, int units) {
#pragma unroll
  for (int u = 0; u < 2 * kBlocks; ++u) {
    auto &first = sums[u / 2][u % 2 * 2], &second = sums[u / 2][u % 2 * 2 + 1];
#pragma unroll
    for (int r = 0; r < 4; ++r) first[r] = second[r] = 0;
    if (u * kSide < units) multiply_bytes<Format>(first, second, rows, w, stride, channels, u * kSide);
  }
}

/// Computes rows = relu(W rows), with W times 2^of_w; sums are the values before rounding.
template <int kBlocks>
__device__ __forceinline__ void hidden_bytes(ByteRows<kBlocks>& rows, int (&e)[2], ByteSums<kBlocks>& sums,
                                             const uint8_t* w, int of_w, int from, int to) {
  layer_of_bytes<E4m3>(sums, rows, w, byte_stride(from), from, to);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int k = 0; k < 16; ++k) sums[b][k / 4][k % 4] = fmaxf(sums[b][k / 4][k % 4], 0);
  e[0] += of_w;
  e[1] += of_w;
  round_bytes<E4m3>(rows, e, sums);
}

/// Layer l to shared memory as e4m3, times 2^of_w: [to][byte_of(from)] or (turned) [from][byte_of(to)], zeros up to whole fragments.
/// The barriers are the caller's. Neighboring lanes read neighboring weights.
template <bool turned>
__device__ __forceinline__ void bring_bytes(uint8_t* shared, const MlpLayers& s, int64_t l,
                                            const float* __restrict__ weights, int of_w) {
  const int from = int(s.from(l)), to = int(s.to(l));
  const int rows = turned ? from : to, columns = turned ? to : from;
  const int stride = byte_stride(columns), pairs = (stride - 16) / 2, whole = mlp_whole(rows);
  const float* w = weights + s.weight_begin(l);
  for (int k = int(threadIdx.x); k < whole * pairs; k += int(blockDim.x)) {
    const int r = turned ? k % whole : k / pairs, c = (turned ? k / whole : k % pairs) * 2;
    float two[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      two[i] = r < rows && c + i < columns
                   ? times_power(turned ? w[(c + i) * from + r] : w[r * from + c + i], of_w)
                   : 0;
    *reinterpret_cast<uint16_t*>(shared + r * stride + byte_of(c)) = uint16_t(E4m3::pair(two[0], two[1]));
  }
}

}  // namespace
}  // namespace klab
