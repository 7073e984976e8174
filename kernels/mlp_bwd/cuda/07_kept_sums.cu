// mlp_bwd.cuda.07_kept_sums: weights and their gradient stay on the chip from the first sample to the last.
//
// CHANGE    a block keeps the weights of all layers in shared memory, rounded once, and takes one tile of 128
//           samples after the other. The gradient of the weights is the sum of mma.sync over all of them: each
//           warp owns squares of 16 by 16 of every layer, in registers, and writes them once at the end. The
//           gradients of all layers are kept like the activations, so that a tile needs two barriers, and
//           the loads of the next tile's inputs are on their way when a warp waits at the second one.
// EXPECT    per 64 samples the parent reads and writes 57 KB of partial sums and loads and rounds the weights
//           twice; both vanish. What stays is 268 bytes a sample of x, d_y and d_x, 17 us of 2^18 samples, and
//           about 4,200 cycles of shared memory for 128 samples, 35 us. 2.3 times the parent.
// NUMERICS  as the parent, sums over a block's samples in their order, then over the blocks. The logistic's
//           derivative from one exponential.
// NEEDS     compute capability 8.0; at most 2 hidden layers of at most 64 channels, 64 inputs, 16 outputs; up
//           to 117 KB of shared memory.
// TRIED     see NOTES.md, cuda.07_kept_sums
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/rows.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int kWide = 4;               // blocks of 16 units of a hidden layer, and the most of a tile's rows
constexpr int kWidth = kWide * kSide;  // narrower layers are filled up with zeros
constexpr int kWidthStride = kWidth + 8, kOutStride = kSide + 8;
constexpr int64_t kMostIn = 64, kMostHidden = 2, kMostOut = kSide;

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

/// Loads channel-major values of 16 samples from i on in the order of Rows, zeros beyond the edges.
template <int kBlocks>
__device__ __forceinline__ void load_raw(float (&raw)[kBlocks][4][2], const float* __restrict__ from,
                                         int64_t n, int channels, int64_t i) {
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

/// rows = W^T rows where h > 0.
__device__ __forceinline__ void input_gradient(Rows<kWide>& rows, const __nv_bfloat16* w, int terms,
                                               const __nv_bfloat16* h) {
  const int warp = int(threadIdx.x) / 32;
  layer<true>(rows, w, kWidthStride, terms, kWidth, [&](const float* two, int r, int b) {
    const auto of_h = *reinterpret_cast<const uint32_t*>(
        &h[(warp * kSide + row(r)) * kWidthStride + b * kSide + column(r)]);
    // Clipped at zero, so a nonzero value is positive.
    return pack(of_h & 0xFFFFU ? two[0] : 0, of_h >> 16 ? two[1] : 0);
  });
}

template <int kIn, int kHidden>
__global__ void __launch_bounds__(kThreads, kIn <= 2 || kHidden == 1 ? 2 : 1)
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const float* __restrict__ d_y, float* __restrict__ d_x, float* __restrict__ copies) {
  using At = Places<kIn, kHidden>;
  KLAB_DYNAMIC_SHARED(__nv_bfloat16, shared);
  const int64_t first = int64_t(blockIdx.x) * kSamples + threadIdx.x / 32 * kSide;  // of this warp
  float next_x[kIn][4][2];
  load_raw(next_x, x, s.n, int(s.in), first);
  bring_all<kIn, kHidden>(shared, s, weights);
  Sums<kIn, kHidden> sums;
  __syncthreads();
  int64_t i = first;
  for (int64_t tile = blockIdx.x; tile * kSamples < s.n;
       tile += gridDim.x, i += int64_t(gridDim.x) * kSamples) {
    Rows<kWide> rows = {};
#pragma unroll
    for (int b = 0; b < kIn; ++b)
#pragma unroll
      for (int r = 0; r < 4; ++r) rows[b][r] = pack(next_x[b][r][0], next_x[b][r][1]);
    keep<kIn>(shared + At::h(0), At::kInStride, rows);
#pragma unroll
    for (int l = 0; l < kHidden; ++l) {
      layer<false>(rows, shared + At::weights(l), At::from_stride(l), l == 0 ? At::kInputs : kWidth, kWidth,
                   [](const float* two, int, int) { return pack(fmaxf(two[0], 0), fmaxf(two[1], 0)); });
      keep<kWide>(shared + At::h(l + 1), kWidthStride, rows);
    }
    float given[1][4][2];
    load_raw(given, d_y, s.n, int(s.out), i);
    if (s.logistic) {
      layer<false>(rows, shared + At::weights(kHidden), kWidthStride, kWidth, kSide,
                   [&](const float* z, int r, int) {
                     float d[2];
#pragma unroll
                     for (int e = 0; e < 2; ++e) {
                       const float t = expf(-fabsf(z[e]));  // y (1 - y) is t / (1 + t)^2 for both signs
                       d[e] = given[0][r][e] * __fdividef(t, (1 + t) * (1 + t));
                     }
                     return pack(d[0], d[1]);
                   });
    } else {
#pragma unroll
      for (int r = 0; r < 4; ++r) rows[0][r] = pack(given[0][r][0], given[0][r][1]);
    }
    keep<1>(shared + At::d(kHidden), kOutStride, rows);
#pragma unroll
    for (int l = kHidden; l > 0; --l) {
      input_gradient(rows, shared + At::weights(l), l == kHidden ? kSide : kWidth, shared + At::h(l));
      keep<kWide>(shared + At::d(l - 1), kWidthStride, rows);
    }
    layer<true>(rows, shared, At::kInStride, kWidth, At::kInputs, [&](const float* two, int r, int b) {
      const int c = b * kSide + column(r);
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (c + e < int(s.in) && i + row(r) < s.n) d_x[(c + e) * s.n + i + row(r)] = two[e];
      return 0U;
    });
    __syncthreads();  // D and h of all warps are complete
    sums.add_tile(shared);
    load_raw(next_x, x, s.n, int(s.in), i + int64_t(gridDim.x) * kSamples);
    __syncthreads();  // all warps have read them
  }
  sums.write(copies + blockIdx.x * int64_t(copy_size<kIn, kHidden>()));
}

constexpr int kSlices = 8;

/// d_weights += the blocks' copies: 32 weights a block, the copies shared out among 8 warps, in the same order
/// in every run.
template <int kIn, int kHidden>
__global__ void __launch_bounds__(32 * kSlices)
    add_copies(MlpLayers s, const float* __restrict__ copies, int blocks, float* __restrict__ d_weights) {
  __shared__ float part[kSlices][32];
  const int lane = int(threadIdx.x) % 32, slice = int(threadIdx.x) / 32;
  const int e = int(blockIdx.x) * 32 + lane;
  const bool there = e < int(s.weight_begin(s.count()));
  float sum = 0;
  if (there) {
    int l = 0;
    while (e >= int(s.weight_begin(l + 1))) ++l;
    const int within = e - int(s.weight_begin(l)), from = int(s.from(l));
    const int at = copy_begin<kIn>(l) + within / from * (l == 0 ? kIn * kSide : kWidth) + within % from;
#pragma unroll 4
    for (int b = slice; b < blocks; b += kSlices) sum += copies[b * int64_t(copy_size<kIn, kHidden>()) + at];
  }
  part[slice][lane] = sum;
  __syncthreads();
  if (slice > 0 || !there) return;
  for (int k = 1; k < kSlices; ++k) sum += part[k][lane];
  d_weights[e] += sum;
}

template <int kIn, int kHidden>
void run_with(const MlpBwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  constexpr size_t kBytes = Places<kIn, kHidden>::kBytes;
  const int64_t fit = int64_t((cuda::device().shared_per_block_optin + 1024) / (kBytes + 1024));
  const int64_t held = std::clamp<int64_t>(fit, 1, 2) * cuda::device().multiprocessors;
  const auto blocks = unsigned(std::min((s.n + kSamples - 1) / kSamples, held));
  cuda::Scratch copies(blocks * size_t(copy_size<kIn, kHidden>()) * sizeof(float));
  cuda::allow_shared(gradients<kIn, kHidden>, kBytes);
  cuda::launch(gradients<kIn, kHidden>, dim3(blocks), dim3(kThreads), kBytes, s, x.x, x.weights, x.d_y, x.d_x,
               copies.as<float>());
  cuda::launch(add_copies<kIn, kHidden>, dim3(unsigned((s.weight_begin(s.count()) + 31) / 32)),
               dim3(32 * kSlices), 0, s, copies.as<float>(), int(blocks), x.d_weights);
}

void run(const MlpBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  if (x.shape.in <= 2 * kSide)
    x.shape.hidden == 1 ? run_with<2, 1>(x) : run_with<2, 2>(x);
  else
    x.shape.hidden == 1 ? run_with<4, 1>(x) : run_with<4, 2>(x);
}

std::string supported(const MlpBwd::Shape& s, const Host& host) {
  if (s.hidden > kMostHidden || s.width > kWidth || s.in > kMostIn || s.out > kMostOut)
    return "keeps the gradient of at most 2 hidden layers of 64 channels, 64 inputs and 16 outputs in "
           "registers";
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "04_mma_sync",
                      .forward = "04_mma_sync",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 2.3},
                      .supported = supported});

}  // namespace
}  // namespace klab
