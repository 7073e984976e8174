// mlp_bwd.cuda.05_half: halves, activations and gradients of each warp with a power of two of their own.
//
// CHANGE    as in the forward's 05: factors are halves in place of bfloat16s, and a warp's rows are scaled to
//           just below 2^15 after each layer by a power of two. The sum over samples of D^T h takes each
//           warp's 16 samples apart, since they have their own powers, and adds up in float.
// EXPECT    an eighth of the parent's error for the same sectors and products; a maximum over the warp a
//           layer, and a launch. No faster: it is for trainings that store halves.
// NUMERICS  factors rounded to half precision (u = 2^-11) relative to the largest of a warp's 16 samples,
//           float sums; values below 2^-39 of the largest are lost. The order of the 16 products of one
//           instruction is the hardware's; the executor adds them exactly and rounds once.
// NEEDS     compute capability 8.0; layers of at most 128 channels; 160 KB of shared memory, as the parent.
// SASS      HMMA LDSM.M88 LDSM.MT88; no HMMA.BF16 LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/halves.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int64_t kMost = 128;
constexpr size_t kShared = 160 << 10;

/// Returns the bytes of shared memory: weights, gradients, inputs of all layers.
size_t shared_bytes(const MlpLayers& s) {
  const int inputs = kSamples * (mlp_stride(s.in) + int(s.hidden) * mlp_stride(s.width));
  return size_t((mlp_whole(s.widest()) + kSamples) * mlp_stride(s.widest()) + inputs) * sizeof(__half);
}

/// Copies rows to shared memory: [sample][channel].
template <int kBlocks>
__device__ __forceinline__ void keep(__half* shared, const Rows<kBlocks>& h, int channels) {
  const int warp = int(threadIdx.x) / 32;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    if (b * kSide >= channels) break;
#pragma unroll
    for (int r = 0; r < 4; ++r)
      *reinterpret_cast<uint32_t*>(
          &shared[(warp * kSide + row(r)) * mlp_stride(channels) + b * kSide + column(r)]) = h[b][r];
  }
}

/// Brings layer l, with a barrier before and one after.
__device__ __forceinline__ void bring_weights(__half* shared, const MlpLayers& s, int64_t l,
                                              const float* __restrict__ weights, int of_w) {
  __syncthreads();
  bring_halves(shared, s, l, weights, of_w);
  __syncthreads();
}

/// rows = d_y times the logistic's derivative at W rows.
template <int kBlocks>
__device__ __forceinline__ void through_logistic(Rows<kBlocks>& rows, int& e, const __half* w, int of_w,
                                                 int from, int to, const float* __restrict__ d_y, int64_t n,
                                                 int64_t i) {
  const int of_sums = e + of_w;
  e = -of_w;  // the values in the place of the sums have no factor
  layer_of_halves<false>(rows, e, w, of_w, mlp_stride(from), from, to, [&](float* two, int r, int u) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int64_t unit = u * kSide + column(r) + k, sample = i + row(r);
      const float given = unit < to && sample < n ? d_y[unit * n + sample] : 0;
      const float z = times_power(two[k], -of_sums);
      two[k] = given * (1 / (1 + expf(-z))) * (1 / (1 + expf(z)));
    }
  });
}

/// The block's copy = (first) or += D^T h over 64 samples, squares of 16 shared out among the warps. Each warp's samples have an
/// exponent, of_d and of_h.
__device__ __forceinline__ void weight_gradient(float* copy, const __half* d, const __half* h,
                                                const int* of_d, const int* of_h, int from, int to,
                                                bool first) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, columns = mlp_whole(from);
  for (int t = warp; t < mlp_whole(to) / kSide * (columns / kSide); t += kWarps) {
    const int u0 = t / (columns / kSide) * kSide, c0 = t % (columns / kSide) * kSide;
    float sum[2][4] = {};
#pragma unroll
    for (int i = 0; i < kSamples; i += kSide) {
      uint32_t left[4], right[4];
      float part[2][4] = {};
      cuda::ldmatrix_x4_trans(left,
                              d + (i + lane % 8 + lane / 16 * 8) * mlp_stride(to) + u0 + lane / 8 % 2 * 8);
      cuda::ldmatrix_x4_trans(right, h + (i + lane % 16) * mlp_stride(from) + c0 + lane / 16 * 8);
      const uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
      multiply_add<__half>(part[0], left, low);
      multiply_add<__half>(part[1], left, high);
      const int e = -of_d[i / kSide] - of_h[i / kSide];
#pragma unroll
      for (int k = 0; k < 8; ++k) sum[k / 4][k % 4] += times_power(part[k / 4][k % 4], e);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      auto* to_copy = reinterpret_cast<float2*>(copy + (u0 + row(r)) * columns + c0 + column(r));
      float2 total = make_float2(pair_of(sum, r)[0], pair_of(sum, r)[1]);
      if (!first) {
        const float2 before = *to_copy;
        total = make_float2(before.x + total.x, before.y + total.y);
      }
      *to_copy = total;
    }
  }
}

/// rows = W^T rows where h > 0; for the first layer d_x = W^T rows.
template <int kBlocks>
__device__ __forceinline__ void input_gradient(Rows<kBlocks>& rows, int& e, const __half* w, int of_w,
                                               const __half* h, int from, int to, float* d_x, int64_t n,
                                               int64_t i) {
  const int of_sums = e + of_w;
  layer_of_halves<true>(rows, e, w, of_w, mlp_stride(from), to, from, [&](float* two, int r, int b) {
    const int c = b * kSide + column(r);
    if (d_x == nullptr) {
      const auto of_h =
          *reinterpret_cast<const uint32_t*>(&h[(threadIdx.x / 32 * kSide + row(r)) * mlp_stride(from) + c]);
      // Clipped at zero, so a nonzero value is positive.
      two[0] = of_h & 0xFFFFU ? two[0] : 0;
      two[1] = of_h >> 16 ? two[1] : 0;
      return;
    }
    for (int k = 0; k < 2; ++k)
      if (c + k < from && i + row(r) < n) d_x[(c + k) * n + i + row(r)] = times_power(two[k], -of_sums);
  });
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads, 1)  // registers for all of a warp's numbers
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const int* __restrict__ exponents, const float* __restrict__ d_y, float* __restrict__ d_x,
              float* __restrict__ copies) {
  KLAB_DYNAMIC_SHARED(__half, w);
  __shared__ int of_h[kMostLayers][kWarps], of_d[kWarps];  // exponents of the rows that warps have kept
  const int warp = int(threadIdx.x) / 32;
  const bool speaks = threadIdx.x % 32 == 0;
  __half* const d = w + mlp_whole(s.widest()) * mlp_stride(s.widest());
  __half* const inputs = d + kSamples * mlp_stride(s.widest());
  float* const copy = copies + blockIdx.x * mlp_whole_begin(s, s.count());
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const bool first = i0 == int64_t(blockIdx.x) * kSamples;
    const int64_t i = i0 + warp * kSide;  // this warp's first sample
    __half* h = inputs;
    Rows<kBlocks> rows;
    int e;  // rows are 2^e times the true values
    load_halves(rows, e, x, s.n, s.in, i);
    __syncthreads();  // the tile before is done with
    keep(h, rows, int(s.in));
    if (speaks) of_h[0][warp] = e;
    for (int64_t l = 0; l < s.hidden; ++l) {
      bring_weights(w, s, l, weights, exponents[l]);
      hidden_halves(rows, e, w, exponents[l], int(s.from(l)), int(s.width));
      h += kSamples * mlp_stride(s.from(l));
      keep(h, rows, int(s.width));
      if (speaks) of_h[l + 1][warp] = e;
    }
    bring_weights(w, s, s.hidden, weights, exponents[s.hidden]);
    if (s.logistic)
      through_logistic(rows, e, w, exponents[s.hidden], int(s.width), int(s.out), d_y, s.n, i);
    else
      load_halves(rows, e, d_y, s.n, s.out, i);
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int from = int(s.from(l)), to = int(s.to(l));
      if (l < s.hidden) bring_weights(w, s, l, weights, exponents[l]);
      keep(d, rows, to);
      if (speaks) of_d[warp] = e;
      __syncthreads();  // D and h of all warps are complete
      weight_gradient(copy + mlp_whole_begin(s, l), d, h, of_d, of_h[l], from, to, first);
      input_gradient(rows, e, w, exponents[l], h, from, to, l == 0 ? d_x : nullptr, s.n, i);
      if (l > 0) h -= kSamples * mlp_stride(s.from(l - 1));
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
  const auto kernel = s.widest() <= 64 ? gradients<4> : gradients<8>;
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
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "04_mma_sync",
                      .forward = "05_half",
                      .numerics = {.unit = Unit::f16},
                      .tiles = {kSamples},
                      .when = {{1 << 18, 32, 64, 2, 3, 1}, "trainings that store halves (--precision f16)"},
                      .supported = supported});

}  // namespace
}  // namespace klab
