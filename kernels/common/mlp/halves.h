// Networks of halves on tensor cores, for mlp_fwd and mlp_bwd. A half has 11 digits and reaches from 2^-24 to
// 2^16. So a warp multiplies its rows by a power of two that scales its largest number to between 2^14 and
// 2^15, and each layer's matrix is scaled likewise: the format gives the digits, an integer exponent gives
// the range. Sums are float, and the exponents add no error: a factor of a power of two does not round.
#pragma once

#include "kernels/common/mlp/rows.h"

namespace klab {
namespace {

constexpr int kMostLayers = 17;  // of the contract: 16 hidden ones and the last

/// x · 2^e in two steps, each within a float's range.
__device__ __forceinline__ float times_power(float x, int e) {
  const int half = max(-126, min(e / 2, 127)), rest = max(-126, min(e - half, 127));
  return x * __uint_as_float(unsigned(half + 127) << 23) * __uint_as_float(unsigned(rest + 127) << 23);
}

/// Returns the power of two that scales `most` to between 2^14 and 2^15; none for zero and for values that
/// are not finite.
__device__ __forceinline__ int exponent_for(float most) {
  if (!(most > 0) || __float_as_uint(most) >= 0x7F800000U) return 0;
  return 14 + 127 - int(__float_as_uint(most) >> 23);
}

__device__ __forceinline__ float most_in_warp(float most) {
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0U, most, step));
  return most;
}

__device__ __forceinline__ uint32_t pack_halves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return uint32_t(__half_as_ushort(__high2half(pair))) << 16 | __half_as_ushort(__low2half(pair));
}

/// The sums of multiply(): element r of block u is the pair pair_of(sums[u], r).
template <int kBlocks>
using SumsOfRows = float[kBlocks][2][4];

/// rows = sums as halves, and e, which belonged to the sums, becomes that of the rows.
template <int kBlocks>
__device__ __forceinline__ void round_rows(Rows<kBlocks>& rows, int& e, const SumsOfRows<kBlocks>& sums) {
  float most = 0;
#pragma unroll
  for (int u = 0; u < kBlocks; ++u)
#pragma unroll
    for (int k = 0; k < 8; ++k) most = fmaxf(most, fabsf(sums[u][k / 4][k % 4]));
  const int more = exponent_for(most_in_warp(most));
  e += more;
#pragma unroll
  for (int u = 0; u < kBlocks; ++u)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const float* two = pair_of(sums[u], r);
      rows[u][r] = pack_halves(times_power(two[0], more), times_power(two[1], more));
    }
}

/// Channel-major values of a warp's samples from i on, zeros beyond the edges, times 2^e.
template <int kBlocks>
__device__ __forceinline__ void load_halves(Rows<kBlocks>& rows, int& e, const float* __restrict__ from,
                                            int64_t n, int64_t channels, int64_t i) {
  SumsOfRows<kBlocks> values = {};
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int64_t sample = i + row(r), c = b * kSide + column(r) + k;
        if (sample < n && c < channels) values[b][r / 2][r % 2 * 2 + k] = from[c * n + sample];
      }
  e = 0;
  round_rows(rows, e, values);
}

/// Computes rows = end(pair of sums, r, u) of rows · W^T, or (turned) of rows · W, with W times 2^of_w.
template <bool turned, int kBlocks, class End>
__device__ __forceinline__ void layer_of_halves(Rows<kBlocks>& rows, int& e, const __half* w, int of_w,
                                                int stride, int terms, int units, const End& end) {
  SumsOfRows<kBlocks> sums = {};
#pragma unroll
  for (int u = 0; u < kBlocks; ++u) {
    if (u * kSide >= units) break;
    multiply<turned>(sums[u], rows, w, stride, terms, u * kSide);
#pragma unroll
    for (int r = 0; r < 4; ++r) end(sums[u][r / 2] + r % 2 * 2, r, u);
  }
  e += of_w;
  round_rows(rows, e, sums);
}

/// rows = relu(W rows).
template <int kBlocks>
__device__ __forceinline__ void hidden_halves(Rows<kBlocks>& rows, int& e, const __half* w, int of_w,
                                              int from, int to) {
  layer_of_halves<false>(rows, e, w, of_w, mlp_stride(from), from, to, [](float* two, int, int) {
    two[0] = fmaxf(two[0], 0);
    two[1] = fmaxf(two[1], 0);
  });
}

/// Layer l to shared memory: [to][from], times 2^of_w, zeros up to whole fragments. The barriers are the caller's.
__device__ __forceinline__ void bring_halves(__half* shared, const MlpLayers& s, int64_t l,
                                             const float* __restrict__ weights, int of_w) {
  const int from = int(s.from(l)), to = int(s.to(l)), columns = mlp_whole(from);
  const float* w = weights + s.weight_begin(l);
  for (int e = int(threadIdx.x); e < mlp_whole(to) * columns; e += int(blockDim.x)) {
    const int r = e / columns, c = e % columns;
    shared[r * mlp_stride(from) + c] =
        __float2half(r < to && c < from ? times_power(w[r * from + c], of_w) : 0);
  }
}

constexpr int kLookers = 256;

/// The exponent of each layer's matrix, a block a layer.
__global__ void __launch_bounds__(kLookers)
    find_exponents(MlpLayers s, const float* __restrict__ weights, int* __restrict__ exponents) {
  __shared__ float of_warps[kLookers / 32];
  float most = 0;
  for (int64_t i = s.weight_begin(blockIdx.x) + threadIdx.x; i < s.weight_begin(blockIdx.x + 1);
       i += kLookers)
    most = fmaxf(most, fabsf(weights[i]));
  most = most_in_warp(most);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 0; w < kLookers / 32; ++w) most = fmaxf(most, of_warps[w]);
  exponents[blockIdx.x] = exponent_for(most);
}

}  // namespace
}  // namespace klab
