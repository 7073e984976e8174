// mlp_bwd.cuda.03_wmma: all three products on tensor cores.
//
// CHANGE    activations, gradients and weights are rounded to bfloat16 in shared memory, 64 samples per
//           block, and the three products are done in squares of 16, shared out among 8 warps: W h, D h^T,
//           W^T D. A transposed factor is only read with the other layout.
// EXPECT    feature-major suits all three: samples are the columns of h and D, and the sum over samples runs
//           along both. Every result goes through shared memory to be clipped or masked, and the block's copy
//           of d_weights is read and written for each tile: those are the limits. At least twice the parent.
// NUMERICS  factors rounded to bfloat16 (u = 2^-8), float sums, also those of the copies. The order is the
//           same every time.
// NEEDS     compute capability 8.0; 160 KB of shared memory for the activations of all layers, two layers of
//           gradients and the largest layer's weights.
// SASS      HMMA.BF16; no LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/wmma.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSamples = 64, kStride = kSamples + 8;
constexpr size_t kShared = 160 << 10;

size_t shared_bytes(const MlpLayers& s) {
  const int channels = mlp_whole(s.in) + int(s.hidden) * mlp_whole(s.width) + 2 * mlp_whole(s.widest());
  const int weights = mlp_whole(s.widest()) * mlp_stride(s.widest());
  return size_t(channels * kStride + weights) * sizeof(__nv_bfloat16);
}

struct Block {
  MlpLayers s;
  const float *x, *weights, *d_y;
  float *d_x, *copy;
  __nv_bfloat16* w;  // of one layer
  float* square;     // of this warp, 16 x 16
  int64_t i0;        // first sample
};

__device__ __forceinline__ void bring_weights(const Block& b, int64_t l) {
  __syncthreads();
  mlp_bring_weights(b.w, b.s, l, b.weights);
  __syncthreads();
}

/// next = relu(W h), or for the last layer d = d_y times the logistic's derivative.
__device__ __forceinline__ void forward_layer(const Block& b, int64_t l, const __nv_bfloat16* h,
                                              __nv_bfloat16* next) {
  const int from = mlp_whole(b.s.from(l)), to = mlp_whole(b.s.to(l));
  const bool last = l == b.s.hidden;
  each_square(kWarps, to, kSamples, [&](int r, int c) {
    Sums sums;
    wmma::fill_fragment(sums, 0.0F);
    if (!last || b.s.logistic)
      multiply<wmma::row_major, wmma::row_major>(sums, b.w, from + 8, r, h, kStride, c, from);
    unfold(b.square, sums, [&](int i, int j, float z) {
      const int64_t unit = r + i, sample = b.i0 + c + j;
      float value = fmaxf(z, 0);
      if (last) value = unit < b.s.out && sample < b.s.n ? b.d_y[unit * b.s.n + sample] : 0;
      if (last && b.s.logistic) value *= (1 / (1 + expf(-z))) * (1 / (1 + expf(z)));
      next[(r + i) * kStride + c + j] = __float2bfloat16(value);
    });
  });
}

/// copy = (first) or += D h^T.
__device__ __forceinline__ void weight_gradient(const Block& b, int64_t l, const __nv_bfloat16* d,
                                                const __nv_bfloat16* h, bool first) {
  const int from = mlp_whole(b.s.from(l)), to = mlp_whole(b.s.to(l));
  each_square(kWarps, to, from, [&](int r, int c) {
    float* copy = b.copy + mlp_whole_begin(b.s, l) + r * from + c;
    Sums sums;
    if (first)
      wmma::fill_fragment(sums, 0.0F);
    else
      wmma::load_matrix_sync(sums, copy, unsigned(from), wmma::mem_row_major);
    multiply<wmma::row_major, wmma::col_major>(sums, d, kStride, r, h, kStride, c, kSamples);
    wmma::store_matrix_sync(copy, sums, unsigned(from), wmma::mem_row_major);
  });
}

/// before = W^T D where h > 0, or for the first layer d_x = W^T D.
__device__ __forceinline__ void input_gradient(const Block& b, int64_t l, const __nv_bfloat16* d,
                                               const __nv_bfloat16* h, __nv_bfloat16* before) {
  const int from = mlp_whole(b.s.from(l)), to = mlp_whole(b.s.to(l));
  each_square(kWarps, from, kSamples, [&](int r, int c) {
    Sums sums;
    wmma::fill_fragment(sums, 0.0F);
    multiply<wmma::col_major, wmma::row_major>(sums, b.w, from + 8, r, d, kStride, c, to);
    unfold(b.square, sums, [&](int i, int j, float sum) {
      const int at = (r + i) * kStride + c + j;
      const int64_t channel = r + i, sample = b.i0 + c + j;
      if (l > 0)
        before[at] = __float2bfloat16(__bfloat162float(h[at]) > 0 ? sum : 0);
      else if (channel < b.s.in && sample < b.s.n)
        b.d_x[channel * b.s.n + sample] = sum;
    });
  });
}

__global__ void __launch_bounds__(kThreads)
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const float* __restrict__ d_y, float* __restrict__ d_x, float* __restrict__ copies) {
  KLAB_DYNAMIC_SHARED(__nv_bfloat16, shared);
  __shared__ __align__(128) float squares[kWarps][kSide * kSide];
  Block b{s,       x,
          weights, d_y,
          d_x,     copies + blockIdx.x * mlp_whole_begin(s, s.count()),
          shared,  squares[threadIdx.x / 32],
          0};
  for (b.i0 = int64_t(blockIdx.x) * kSamples; b.i0 < s.n; b.i0 += int64_t(gridDim.x) * kSamples) {
    const bool first = b.i0 == int64_t(blockIdx.x) * kSamples;
    __nv_bfloat16* h = shared + mlp_whole(s.widest()) * mlp_stride(s.widest());
    __syncthreads();  // the tile before is done with
    for (int e = int(threadIdx.x); e < mlp_whole(s.in) * kSamples; e += kThreads) {
      const int64_t c = e / kSamples, i = b.i0 + e % kSamples;
      h[c * kStride + e % kSamples] = __float2bfloat16(c < s.in && i < s.n ? x[c * s.n + i] : 0);
    }
    for (int64_t l = 0; l < s.count(); ++l) {
      __nv_bfloat16* next = h + mlp_whole(s.from(l)) * kStride;
      bring_weights(b, l);
      forward_layer(b, l, h, next);
      if (l < s.hidden) h = next;
    }
    __nv_bfloat16 *d = h + mlp_whole(s.width) * kStride, *before = d + mlp_whole(s.widest()) * kStride;
    for (int64_t l = s.hidden; l >= 0; --l) {
      if (l < s.hidden)
        bring_weights(b, l);
      else
        __syncthreads();  // D is there; the last layer's weights still are
      weight_gradient(b, l, d, h, first);
      input_gradient(b, l, d, h, before);
      if (l > 0) h -= mlp_whole(s.from(l - 1)) * kStride;
      __nv_bfloat16* other = d;
      d = before;
      before = other;
    }
  }
}

/// d_weights += the blocks' copies, in their order.
__global__ void __launch_bounds__(kThreads)
    add_copies(MlpLayers s, int64_t l, const float* __restrict__ copies, int64_t copy, int blocks,
               float* __restrict__ d_weights) {
  const int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x, from = s.from(l);
  if (e >= from * s.to(l)) return;
  const int64_t at = mlp_whole_begin(s, l) + e / from * mlp_whole(from) + e % from;
  float sum = 0;
  for (int b = 0; b < blocks; ++b) sum += copies[b * copy + at];
  d_weights[s.weight_begin(l) + e] += sum;
}

void run(const MlpBwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  const int64_t tiles = (s.n + kSamples - 1) / kSamples, held = 2 * cuda::device().multiprocessors;
  const auto blocks = unsigned(std::min(tiles, held));
  const int64_t copy = mlp_whole_begin(s, s.count());
  cuda::Scratch copies(blocks * size_t(copy) * sizeof(float));
  cuda::allow_shared(gradients, shared_bytes(s));
  cuda::launch(gradients, dim3(blocks), dim3(kThreads), shared_bytes(s), s, x.x, x.weights, x.d_y, x.d_x,
               copies.as<float>());
  for (int64_t l = 0; l < s.count(); ++l)
    cuda::launch(add_copies, dim3(unsigned((s.from(l) * s.to(l) + kThreads - 1) / kThreads)), dim3(kThreads),
                 0, s, l, copies.as<float>(), copy, int(blocks), x.d_weights);
}

std::string supported(const MlpBwd::Shape& shape, const Host& host) {
  const MlpLayers s(shape);
  if (shared_bytes(s) > kShared)
    return "needs " + std::to_string(shared_bytes(s)) +
           " bytes of shared memory for its activations; it takes " + std::to_string(kShared) + " at most";
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "02_shared_resident",
                      .forward = "03_wmma",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 2},
                      .supported = supported});

}  // namespace
}  // namespace klab
