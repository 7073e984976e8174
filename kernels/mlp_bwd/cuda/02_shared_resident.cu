// mlp_bwd.cuda.02_shared_resident: forward and back on 32 samples in shared memory.
//
// CHANGE    a block computes the activations of 32 samples again, keeps those of all layers in shared memory,
//           and goes back through them. Its sums for the weights go to a copy of its own in device memory; a
//           last kernel adds the copies in the order of the blocks.
// EXPECT    global memory sees x, d_y and d_x once, and for each tile the block's copy of d_weights, which L2
//           holds. Rows of 33 samples: lanes on 32 rows use 32 banks, so that neither the layers (lanes are
//           samples) nor the gradient of the weights (lanes are channels) has conflicts. Several times the
//           parent.
// NUMERICS  float. A weight's sum is a chain of 32 a tile, one a tile, then one a block: the same order every
//           time.
// NEEDS     in + hidden·width + 2·max(in, width, out) at most 744 channels: 96 KB. A copy of the weights for
//           each block.
// TRIED     see NOTES.md, cuda.02_shared_resident
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kSamples = 32, kStride = kSamples + 1, kWarps = 8, kThreads = 32 * kWarps;
constexpr size_t kShared = 96 << 10;

/// Bytes of shared memory: inputs of every layer, and gradients of two.
size_t shared_bytes(const MlpLayers& s) {
  return size_t(s.in + s.hidden * s.width + 2 * s.widest()) * kStride * sizeof(float);
}

/// next[r] = relu(W h), rows of samples; one warp per unit.
__device__ __forceinline__ void forward_layer(const float* __restrict__ w, const float* h, float* next,
                                              int from, int to) {
  const int lane = threadIdx.x % 32;
  for (int r = int(threadIdx.x) / 32; r < to; r += kWarps) {
    float sum = 0;
    for (int c = 0; c < from; ++c) sum += w[r * from + c] * h[c * kStride + lane];
    next[r * kStride + lane] = fmaxf(sum, 0);
  }
}

/// d = d_y, or d_y times the logistic's derivative; zero beyond the last sample.
__device__ __forceinline__ void output_gradient(const MlpLayers& s, const float* __restrict__ w,
                                                const float* h, const float* __restrict__ d_y, float* d,
                                                int64_t i) {
  const int lane = threadIdx.x % 32;
  for (int r = int(threadIdx.x) / 32; r < s.out; r += kWarps) {
    float given = i < s.n ? d_y[r * s.n + i] : 0;
    if (s.logistic) {
      float z = 0;
      for (int c = 0; c < s.width; ++c) z += w[r * s.width + c] * h[c * kStride + lane];
      given *= (1 / (1 + expf(-z))) * (1 / (1 + expf(z)));
    }
    d[r * kStride + lane] = given;
  }
}

/// The block's copy of d_w gets (first) or takes up (later tiles) the sum over samples of d[r]·h[c]; a lane a
/// column.
__device__ __forceinline__ void weight_gradient(const float* d, const float* h, float* copy, int from, int to,
                                                bool first) {
  const int lane = threadIdx.x % 32;
  for (int r = int(threadIdx.x) / 32; r < to; r += kWarps)
    for (int c = lane; c < from; c += 32) {
      float sum = 0;
      for (int i = 0; i < kSamples; ++i) sum += d[r * kStride + i] * h[c * kStride + i];
      copy[r * from + c] = first ? sum : copy[r * from + c] + sum;
    }
}

/// W^T d for a sample a lane, one channel.
__device__ __forceinline__ float input_gradient(const float* __restrict__ w, const float* d, int c, int from,
                                                int to) {
  float sum = 0;
  for (int r = 0; r < to; ++r) sum += w[r * from + c] * d[r * kStride + threadIdx.x % 32];
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const float* __restrict__ d_y, float* __restrict__ d_x, float* __restrict__ copies) {
  KLAB_DYNAMIC_SHARED(float, shared);
  float* copy = copies + blockIdx.x * s.weight_begin(s.count());
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const bool first = i0 == int64_t(blockIdx.x) * kSamples;
    const int64_t i = i0 + lane;
    __syncthreads();  // the tile before is done with
    float* h = shared;
    for (int c = warp; c < s.in; c += kWarps) h[c * kStride + lane] = i < s.n ? x[c * s.n + i] : 0;
    for (int64_t l = 0; l < s.hidden; ++l) {
      float* next = h + s.from(l) * kStride;
      __syncthreads();
      forward_layer(weights + s.weight_begin(l), h, next, int(s.from(l)), int(s.width));
      h = next;
    }
    float *d = h + s.width * kStride, *before = d + s.widest() * kStride;
    __syncthreads();
    output_gradient(s, weights + s.weight_begin(s.hidden), h, d_y, d, i);
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int from = int(s.from(l)), to = int(s.to(l));
      const float* w = weights + s.weight_begin(l);
      __syncthreads();
      weight_gradient(d, h, copy + s.weight_begin(l), from, to, first);
      for (int c = warp; c < from; c += kWarps) {
        const float sum = input_gradient(w, d, c, from, to);
        if (l > 0)
          before[c * kStride + lane] = h[c * kStride + lane] > 0 ? sum : 0;
        else if (i < s.n)
          d_x[c * s.n + i] = sum;
      }
      if (l > 0) h -= s.from(l - 1) * kStride;
      float* other = d;
      d = before;
      before = other;
    }
  }
}

/// d_weights += the blocks' copies, in their order.
__global__ void __launch_bounds__(kThreads)
    add_copies(const float* __restrict__ copies, int64_t weights, int blocks, float* __restrict__ d_weights) {
  const int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (e >= weights) return;
  float sum = 0;
  for (int b = 0; b < blocks; ++b) sum += copies[b * weights + e];
  d_weights[e] += sum;
}

void run(const MlpBwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  const int64_t tiles = (s.n + kSamples - 1) / kSamples, held = 2 * cuda::device().multiprocessors;
  const auto blocks = unsigned(std::min(tiles, held));
  cuda::Scratch copies(blocks * size_t(s.weight_begin(s.count())) * sizeof(float));
  cuda::allow_shared(gradients, shared_bytes(s));
  cuda::launch(gradients, dim3(blocks), dim3(kThreads), shared_bytes(s), s, x.x, x.weights, x.d_y, x.d_x,
               copies.as<float>());
  cuda::launch(add_copies, dim3(unsigned((s.weight_begin(s.count()) + kThreads - 1) / kThreads)),
               dim3(kThreads), 0, copies.as<float>(), s.weight_begin(s.count()), int(blocks), x.d_weights);
}

std::string supported(const MlpBwd::Shape& shape, const Host&) {
  const MlpLayers s(shape);
  if (shared_bytes(s) <= kShared) return "";
  return "needs " + std::to_string(shared_bytes(s)) +
         " bytes of shared memory for its activations; it takes " + std::to_string(kShared) + " at most";
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "01_layer_by_layer",
                      .forward = "02_shared_resident",
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 3},
                      .supported = supported});

}  // namespace
}  // namespace klab
