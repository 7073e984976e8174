// mlp_bwd.cuda.06_fp8: bytes, activations and weights of e4m3 and gradients of e5m2, each with powers of two
// of their own.
//
// CHANGE    as in the forward's 06: factors are bytes in place of halves, e4m3 as in the forward, e5m2 for D,
//           whose range matters more than its digits (Micikevicius et al., "FP8 Formats for Deep Learning",
//           2022). Bytes have no transposing ldmatrix: W^T is copied transposed, and D and h are kept by
//           channel. In the sum over samples of D^T h a sample's powers of two cannot be factored out: D
//           absorbs them, and the block's 64 samples share one.
// EXPECT    half the products and half the shared memory. Bytes stored one by one, a barrier a layer more,
//           for the block's power of two, and weights copied twice for it: no faster than the parent.
// NUMERICS  activations and weights rounded to e4m3 (u = 2^-4), D to e5m2 (u = 2^-3), relative to the largest
//           of their sample or matrix, in D^T h of the block's samples; values below 2^-18 of it are lost,
//           for D below 2^-30; float sums. The order of the 32 products of one instruction is the hardware's;
//           instructions follow each other in order of channels or samples, blocks in their order. The
//           executor adds exactly, except numbers 2^53 apart, and rounds once an instruction.
// NEEDS     compute capability 8.9; layers of at most 128 channels; 160 KB of shared memory at most.
// TRIED     see NOTES.md, cuda.06_fp8
// SASS      HMMA LDSM; no HMMA.BF16 LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/fp8.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int kApart = kSamples + 16;  // of channels in shared memory: an odd multiple of 16 bytes
constexpr int64_t kMost = 128;
constexpr size_t kShared = 160 << 10;
constexpr int kNone = 1 << 20;  // the exponent of a sample whose gradients are all zero

/// Returns the bytes of shared memory: weights, gradients, inputs of all layers.
size_t shared_bytes(const MlpLayers& s) {
  const int channels = mlp_whole(s.widest()) + mlp_whole(s.in) + int(s.hidden) * mlp_whole(s.width);
  return size_t(mlp_whole(s.widest()) * byte_stride(s.widest()) + channels * kApart);
}

/// Copies rows to shared memory: [channel][sample]. If `positive` is given, values above zero there stay
/// above zero, however small: a ReLU's mask is read from it.
template <int kBlocks>
__device__ __forceinline__ void keep(uint8_t* shared, const ByteRows<kBlocks>& rows, int channels,
                                     const ByteSums<kBlocks>* positive = nullptr) {
  const int warp = int(threadIdx.x) / 32, whole = mlp_whole(channels);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int t = r / 2 * 2 + k / 2, c = channel_of(b, t, k);
        const bool lives = positive != nullptr && (*positive)[b][t][r % 2 * 2 + k % 2] > 0;
        const uint32_t bits = rows[b][r] >> (8 * k) & 255U;
        if (c < whole) shared[c * kApart + warp * kSide + row8(r)] = uint8_t(lives && bits == 0 ? 1 : bits);
      }
}

/// Brings layer l, with a barrier before and one after.
template <bool turned>
__device__ __forceinline__ void bring_weights(uint8_t* shared, const MlpLayers& s, int64_t l,
                                              const float* __restrict__ weights, int of_w) {
  __syncthreads();
  bring_bytes<turned>(shared, s, l, weights, of_w);
  __syncthreads();
}

/// values = d_y times the logistic's derivative at W rows.
template <int kBlocks>
__device__ __forceinline__ void through_logistic(ByteSums<kBlocks>& values, const ByteRows<kBlocks>& rows,
                                                 const int (&e)[2], const uint8_t* w, int of_w,
                                                 const MlpLayers& s, const float* __restrict__ d_y,
                                                 int64_t i) {
  layer_of_bytes<E4m3>(values, rows, w, byte_stride(s.width), int(s.width), int(s.out));
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const int64_t unit = channel_of(b, k / 4, k % 4), sample = i + row8(k % 4 / 2);
      const float given = unit < s.out && sample < s.n ? d_y[unit * s.n + sample] : 0;
      const float z = times_power(values[b][k / 4][k % 4], -e[k % 4 / 2] - of_w);
      values[b][k / 4][k % 4] = given * (1 / (1 + expf(-z))) * (1 / (1 + expf(z)));
    }
}

/// The block's exponent of D^T h: the least of its samples' own, of which `mine` are this lane's. With a barrier.
__device__ __forceinline__ int least_of_block(int (&of_warps)[kWarps], const int (&mine)[2]) {
  int least = min(mine[0], mine[1]);
  for (int step = 16; step > 0; step /= 2) least = min(least, __shfl_xor_sync(~0U, least, step));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = least;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) least = min(least, of_warps[w]);
  return least;
}

/// Keeps D as the factor of D^T h: values, times 2^e, absorb the exponents of h, and all samples get the
/// block's exponent, which is returned. There is a barrier between earlier copies of other warps and this
/// one.
template <int kBlocks>
__device__ __forceinline__ int keep_gradients(uint8_t* d, ByteSums<kBlocks>& values, const int (&e)[2],
                                              const int* of_h, int (&of_warps)[kWarps], int channels) {
  const int first = int(threadIdx.x) / 32 * kSide;
  int mine[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    bool zero = true;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int k = 0; k < 8; ++k) zero = zero && values[b][k / 2][half * 2 + k % 2] == 0;
    mine[half] = zero ? kNone : e[half] + of_h[first + row8(half)];
  }
  const int least = least_of_block(of_warps, mine);
  ByteRows<kBlocks> rows;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int k = 0; k < 16; ++k)
      values[b][k / 4][k % 4] = times_power(values[b][k / 4][k % 4], least - mine[k % 4 / 2]);
#pragma unroll
    for (int r = 0; r < 4; ++r) rows[b][r] = bytes_of_sums<E5m2, kBlocks>(values, b, r);
  }
  keep(d, rows, channels);
  return least;
}

/// The block's copy = (first) or += D^T h over 64 samples, squares of 16 shared out among the warps; products
/// are 2^e times the true values.
__device__ __forceinline__ void weight_gradient(float* copy, const uint8_t* d, const uint8_t* h, int e,
                                                int from, int to, bool first) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, columns = mlp_whole(from);
  for (int t = warp; t < mlp_whole(to) / kSide * (columns / kSide); t += kWarps) {
    const int u0 = t / (columns / kSide) * kSide, c0 = t % (columns / kSide) * kSide;
    float sum[2][4] = {};
#pragma unroll
    for (int i = 0; i < kSamples; i += kBytes) {
      uint32_t left[4], right[4];
      cuda::ldmatrix_x4(left, d + (u0 + lane % 16) * kApart + i + lane / 16 * 16);
      cuda::ldmatrix_x4(right, h + (c0 + lane % 8 + lane / 16 * 8) * kApart + i + lane / 8 % 2 * 16);
      const uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
      E5m2::multiply_add(sum[0], left, low);
      E5m2::multiply_add(sum[1], left, high);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      auto* to_copy = reinterpret_cast<float2*>(copy + (u0 + row(r)) * columns + c0 + column(r));
      const float* two = pair_of(sum, r);
      float2 total = make_float2(times_power(two[0], -e), times_power(two[1], -e));
      if (!first) {
        const float2 before = *to_copy;
        total = make_float2(before.x + total.x, before.y + total.y);
      }
      *to_copy = total;
    }
  }
}

/// values = W^T rows where h > 0; for the first layer d_x = W^T rows.
template <int kBlocks>
__device__ __forceinline__ void input_gradient(ByteSums<kBlocks>& values, const ByteRows<kBlocks>& rows,
                                               const int (&of_sums)[2], const uint8_t* w, const uint8_t* h,
                                               int from, int to, float* d_x, int64_t n, int64_t i) {
  const int warp = int(threadIdx.x) / 32;
  layer_of_bytes<E5m2>(values, rows, w, byte_stride(to), to, from);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float& value = values[b][k / 4][k % 4];
      const int half = k % 4 / 2, c = channel_of(b, k / 4, k % 4);
      if (d_x == nullptr) {
        // Clipped at zero, so a nonzero value is positive.
        if (c < from && (h[c * kApart + warp * kSide + row8(half)] & 0x7FU) == 0) value = 0;
      } else if (c < from && i + row8(half) < n) {
        d_x[c * n + i + row8(half)] = times_power(value, -of_sums[half]);
      }
    }
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks <= 2 ? 4 : 1)  // four blocks, as are launched
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const int* __restrict__ exponents, const float* __restrict__ d_y, float* __restrict__ d_x,
              float* __restrict__ copies) {
  KLAB_DYNAMIC_SHARED(uint8_t, w);
  // exponents of the rows that samples have kept
  __shared__ int of_h[kMostLayers][kSamples], of_warps[kWarps];
  const int warp = int(threadIdx.x) / 32;
  const bool speaks = threadIdx.x % 4 == 0;  // of four lanes with the same samples
  uint8_t* const d = w + mlp_whole(s.widest()) * byte_stride(s.widest());
  uint8_t* const inputs = d + mlp_whole(s.widest()) * kApart;
  float* const copy = copies + blockIdx.x * mlp_whole_begin(s, s.count());
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const bool first = i0 == int64_t(blockIdx.x) * kSamples;
    const int64_t i = i0 + warp * kSide;  // this warp's first sample
    uint8_t* h = inputs;
    ByteRows<kBlocks> rows;
    ByteSums<kBlocks> values;
    int e[2] = {};  // rows are 2^e times the true values
    load_values(values, x, s.n, s.in, i);
    round_bytes<E4m3>(rows, e, values);
    __syncthreads();  // the tile before is done with
    keep(h, rows, int(s.in));
    if (speaks) of_h[0][warp * kSide + row8(0)] = e[0], of_h[0][warp * kSide + row8(1)] = e[1];
    for (int64_t l = 0; l < s.hidden; ++l) {
      const int of_w = byte_exponent_of_weights(exponents[l]);
      bring_weights<false>(w, s, l, weights, of_w);
      hidden_bytes(rows, e, values, w, of_w, int(s.from(l)), int(s.width));
      h += mlp_whole(s.from(l)) * kApart;
      keep(h, rows, int(s.width), &values);
      if (speaks) of_h[l + 1][warp * kSide + row8(0)] = e[0], of_h[l + 1][warp * kSide + row8(1)] = e[1];
    }
    if (s.logistic) {
      const int of_w = byte_exponent_of_weights(exponents[s.hidden]);
      bring_weights<false>(w, s, s.hidden, weights, of_w);
      through_logistic(values, rows, e, w, of_w, s, d_y, i);
    } else {
      load_values(values, d_y, s.n, s.out, i);
    }
    e[0] = e[1] = 0;
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int from = int(s.from(l)), to = int(s.to(l)), of_w = byte_exponent_of_weights(exponents[l]);
      round_bytes<E5m2>(rows, e, values);
      bring_weights<true>(w, s, l, weights, of_w);
      const int of_d = keep_gradients(d, values, e, of_h[l], of_warps, to);
      __syncthreads();  // D and h of all warps are complete
      weight_gradient(copy + mlp_whole_begin(s, l), d, h, of_d, from, to, first);
      e[0] += of_w;
      e[1] += of_w;
      input_gradient(values, rows, e, w, h, from, to, l == 0 ? d_x : nullptr, s.n, i);
      if (l > 0) h -= mlp_whole(s.from(l - 1)) * kApart;
    }
  }
}

#include "kernels/mlp_bwd/cuda/04_mma_sync_copies-inl.h"

void run(const MlpBwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  const int64_t tiles = (s.n + kSamples - 1) / kSamples, held = 4 * cuda::device().multiprocessors;
  const auto blocks = unsigned(std::min(tiles, held));
  const int64_t copy = mlp_whole_begin(s, s.count());
  cuda::Scratch copies(blocks * size_t(copy) * sizeof(float));
  cuda::Scratch exponents(kMostLayers * sizeof(int));
  cuda::launch(find_exponents, dim3(unsigned(s.count())), dim3(kLookers), 0, s, x.weights,
               exponents.as<int>());
  const auto kernel = s.widest() <= 64 ? gradients<2> : gradients<4>;
  cuda::allow_shared(kernel, shared_bytes(s));
  cuda::launch(kernel, dim3(blocks), dim3(kThreads), shared_bytes(s), s, x.x, x.weights, exponents.as<int>(),
               x.d_y, x.d_x, copies.as<float>());
  for (int64_t l = 0; l < s.count(); ++l)
    cuda::launch(add_copies, dim3(unsigned((s.from(l) * s.to(l) + kThreads - 1) / kThreads)), dim3(kThreads),
                 0, s, l, copies.as<float>(), copy, int(blocks), x.d_weights);
}

std::string supported(const MlpBwd::Shape& shape, const Host& host) {
  const MlpLayers s(shape);
  if (s.widest() > kMost) return "keeps layers of at most " + std::to_string(kMost) + " channels on the chip";
  if (shared_bytes(s) > kShared)
    return "needs " + std::to_string(shared_bytes(s)) +
           " bytes of shared memory for its activations; it takes " + std::to_string(kShared) + " at most";
  return cuda::needs(host, 89);
}

KLAB_VARIANT(MlpBwd,
             {.run = run,
              .parent = "05_half",
              .forward = "06_fp8",
              .numerics = {.unit = Unit::e5m2},
              .tiles = {kSamples},
              .when = {{1 << 18, 32, 64, 2, 3, 1}, "a plan that names it: what gradients of eight bits do"},
              .supported = supported});

}  // namespace
}  // namespace klab
