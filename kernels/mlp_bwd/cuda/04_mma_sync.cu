// mlp_bwd.cuda.04_mma_sync: activations recomputed and gradients carried in registers.
//
// CHANGE    as in the forward's 04, a warp takes 16 samples through the layers in registers, and then their
//           gradients back: samples are rows, and a lane's part of a result is its part of the next product's
//           factor. Shared memory gets one copy of each, samples along the rows, for the sum over samples and
//           for the masks.
// EXPECT    W h and W^T D are ldmatrix on weights and mma.sync; only D^T h reads both factors from shared
//           memory, turned by ldmatrix, and needs all warps of the block. No result passes through memory to
//           be clipped. At least 1.5 times the parent; the block's copy of d_weights, read and written for
//           each 64 samples, is the limit.
// NUMERICS  as the parent.
// NEEDS     compute capability 8.0; layers of at most 128 channels; 160 KB of shared memory for the inputs of
//           all layers, one layer of gradients and the largest layer's weights.
// SASS      HMMA.BF16 LDSM.M88 LDSM.MT88; no LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/rows.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int64_t kMost = 128;
constexpr size_t kShared = 160 << 10;

/// Returns the bytes of shared memory: weights, gradients, inputs of all layers.
size_t shared_bytes(const MlpLayers& s) {
  const int inputs = kSamples * (mlp_stride(s.in) + int(s.hidden) * mlp_stride(s.width));
  return size_t((mlp_whole(s.widest()) + kSamples) * mlp_stride(s.widest()) + inputs) * sizeof(__nv_bfloat16);
}

/// Copies rows to shared memory: [sample][channel].
template <int kBlocks>
__device__ __forceinline__ void keep(__nv_bfloat16* shared, const Rows<kBlocks>& h, int channels) {
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
__device__ __forceinline__ void bring_weights(__nv_bfloat16* shared, const MlpLayers& s, int64_t l,
                                              const float* __restrict__ weights) {
  __syncthreads();
  mlp_bring_weights(shared, s, l, weights);
  __syncthreads();
}

/// rows = d_y times the logistic's derivative at W rows.
template <int kBlocks>
__device__ __forceinline__ void through_logistic(Rows<kBlocks>& rows, const __nv_bfloat16* w, int from,
                                                 int to, const float* __restrict__ d_y, int64_t n,
                                                 int64_t i) {
  layer<false>(rows, w, mlp_stride(from), from, to, [&](const float* z, int r, int u) {
    float d[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int64_t unit = u * kSide + column(r) + e, sample = i + row(r);
      const float given = unit < to && sample < n ? d_y[unit * n + sample] : 0;
      d[e] = given * (1 / (1 + expf(-z[e]))) * (1 / (1 + expf(z[e])));
    }
    return pack(d[0], d[1]);
  });
}

/// The block's copy = (first) or += D^T h over 64 samples, squares of 16 shared out among the warps.
__device__ __forceinline__ void weight_gradient(float* copy, const __nv_bfloat16* d, const __nv_bfloat16* h,
                                                int from, int to, bool first) {
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, columns = mlp_whole(from);
  for (int t = warp; t < mlp_whole(to) / kSide * (columns / kSide); t += kWarps) {
    const int u0 = t / (columns / kSide) * kSide, c0 = t % (columns / kSide) * kSide;
    float sum[2][4] = {};
#pragma unroll
    for (int i = 0; i < kSamples; i += kSide) {
      uint32_t of_d[4], of_h[4];
      cuda::ldmatrix_x4_trans(of_d,
                              d + (i + lane % 8 + lane / 16 * 8) * mlp_stride(to) + u0 + lane / 8 % 2 * 8);
      cuda::ldmatrix_x4_trans(of_h, h + (i + lane % 16) * mlp_stride(from) + c0 + lane / 16 * 8);
      const uint32_t low[2] = {of_h[0], of_h[1]}, high[2] = {of_h[2], of_h[3]};
      cuda::mma_m16n8k16_bf16(sum[0], of_d, low, sum[0]);
      cuda::mma_m16n8k16_bf16(sum[1], of_d, high, sum[1]);
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
__device__ __forceinline__ void input_gradient(Rows<kBlocks>& rows, const __nv_bfloat16* w,
                                               const __nv_bfloat16* h, int from, int to, float* d_x,
                                               int64_t n, int64_t i) {
  layer<true>(rows, w, mlp_stride(from), to, from, [&](const float* two, int r, int b) {
    const int c = b * kSide + column(r);
    if (d_x == nullptr) {
      const auto of_h =
          *reinterpret_cast<const uint32_t*>(&h[(threadIdx.x / 32 * kSide + row(r)) * mlp_stride(from) + c]);
      // Clipped at zero, so a nonzero value is positive.
      return pack(of_h & 0xFFFFU ? two[0] : 0, of_h >> 16 ? two[1] : 0);
    }
    for (int e = 0; e < 2; ++e)
      if (c + e < from && i + row(r) < n) d_x[(c + e) * n + i + row(r)] = two[e];
    return 0U;
  });
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads)
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const float* __restrict__ d_y, float* __restrict__ d_x, float* __restrict__ copies) {
  KLAB_DYNAMIC_SHARED(__nv_bfloat16, w);
  __nv_bfloat16* const d = w + mlp_whole(s.widest()) * mlp_stride(s.widest());
  __nv_bfloat16* const inputs = d + kSamples * mlp_stride(s.widest());
  float* const copy = copies + blockIdx.x * mlp_whole_begin(s, s.count());
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const bool first = i0 == int64_t(blockIdx.x) * kSamples;
    const int64_t i = i0 + threadIdx.x / 32 * kSide;  // this warp's first sample
    __nv_bfloat16* h = inputs;
    Rows<kBlocks> rows;
    load_rows(rows, x, s.n, s.in, i);
    __syncthreads();  // the tile before is done with
    keep(h, rows, int(s.in));
    for (int64_t l = 0; l < s.hidden; ++l) {
      bring_weights(w, s, l, weights);
      hidden_layer(rows, w, int(s.from(l)), int(s.width));
      h += kSamples * mlp_stride(s.from(l));
      keep(h, rows, int(s.width));
    }
    bring_weights(w, s, s.hidden, weights);
    if (s.logistic)
      through_logistic(rows, w, int(s.width), int(s.out), d_y, s.n, i);
    else
      load_rows(rows, d_y, s.n, s.out, i);
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int from = int(s.from(l)), to = int(s.to(l));
      if (l < s.hidden) bring_weights(w, s, l, weights);
      keep(d, rows, to);
      __syncthreads();  // D and h of all warps are complete
      weight_gradient(copy + mlp_whole_begin(s, l), d, h, from, to, first);
      input_gradient(rows, w, h, from, to, l == 0 ? d_x : nullptr, s.n, i);
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
  const auto kernel = s.widest() <= 64 ? gradients<4> : gradients<8>;
  cuda::allow_shared(kernel, shared_bytes(s));
  cuda::launch(kernel, dim3(blocks), dim3(kThreads), shared_bytes(s), s, x.x, x.weights, x.d_y, x.d_x,
               copies.as<float>());
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
                      .parent = "03_wmma",
                      .forward = "04_mma_sync",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.5},
                      .supported = supported});

}  // namespace
}  // namespace klab
