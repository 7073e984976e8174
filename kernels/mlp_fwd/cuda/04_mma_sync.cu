// mlp_fwd.cuda.04_mma_sync: activations in registers from the first layer to the last.
//
// CHANGE    mma.sync with samples as rows: what a lane holds of a product's result is what it must hold of
//           the next product's left factor. So a layer's sums are rounded, clipped and used where they are.
//           Weights lie in shared memory, all of them once for all the samples of a block where they fit.
// EXPECT    activations touch neither global nor shared memory; a layer is ldmatrix on its weights and
//           mma.sync, 16 samples per warp. x is read by lanes in groups of 8 samples, whole sectors. At least
//           twice the parent.
// NUMERICS  as the parent.
// NEEDS     compute capability 8.0; layers of at most 128 channels.
// TRIED     -
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp_device.h"
#include "kernels/common/mma.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSide = 16, kSamples = kSide * kWarps;
constexpr int64_t kMost = 128;
constexpr size_t kResident = 96 << 10;  // bytes of weights that stay in shared memory

/// Elements of layer l in shared memory: whole fragments, rows 16 bytes longer so that they begin in other
/// banks.
__host__ __device__ inline int elements(const MlpLayers& s, int64_t l) {
  return mlp_whole(s.to(l)) * (mlp_whole(s.from(l)) + 8);
}

/// Brings layer l, rounded, zeros up to whole fragments.
__device__ __forceinline__ void bring_weights(__nv_bfloat16* shared, const MlpLayers& s, int64_t l,
                                              const float* __restrict__ weights) {
  const int from = int(s.from(l)), to = int(s.to(l)), columns = mlp_whole(from);
  const float* w = weights + s.weight_begin(l);
  for (int e = int(threadIdx.x); e < mlp_whole(to) * columns; e += kThreads) {
    const int r = e / columns, c = e % columns;
    shared[r * (columns + 8) + c] = __float2bfloat16(r < to && c < from ? w[r * from + c] : 0);
  }
}

__device__ __forceinline__ uint32_t pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return uint32_t(__bfloat16_as_ushort(pair.y)) << 16 | __bfloat16_as_ushort(pair.x);
}

/// x of 16 samples from i on, as left factors: block b has channels 16b to 16b + 15.
template <int kBlocks>
__device__ __forceinline__ void load_inputs(uint32_t (&h)[kBlocks][4], const float* __restrict__ x, int64_t n,
                                            int64_t in, int64_t i) {
  const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int64_t sample = i + group + r % 2 * 8, c = b * kSide + pair + r / 2 * 8;
      const bool there = sample < n;
      h[b][r] =
          pack(there && c < in ? x[c * n + sample] : 0, there && c + 1 < in ? x[(c + 1) * n + sample] : 0);
    }
}

/// Sums of 16 units from u0 on, as two results of 8 columns.
template <int kBlocks>
__device__ __forceinline__ void multiply(float (&sum)[2][4], const uint32_t (&h)[kBlocks][4],
                                         const __nv_bfloat16* w, int from, int u0) {
  const int lane = threadIdx.x % 32, stride = mlp_whole(from) + 8;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    if (b * kSide >= from) break;
    uint32_t of_w[4];  // units 0-7 at channels 0-7 and 8-15, then units 8-15
    cuda::ldmatrix_x4(of_w, w + (u0 + lane % 8 + lane / 16 * 8) * stride + b * kSide + lane / 8 % 2 * 8);
    const uint32_t low[2] = {of_w[0], of_w[1]}, high[2] = {of_w[2], of_w[3]};
    cuda::mma_m16n8k16_bf16(sum[0], h[b], low, sum[0]);
    cuda::mma_m16n8k16_bf16(sum[1], h[b], high, sum[1]);
  }
}

/// A hidden layer: h becomes relu(W h).
template <int kBlocks>
__device__ __forceinline__ void hidden_layer(uint32_t (&h)[kBlocks][4], const __nv_bfloat16* w, int from,
                                             int to) {
  uint32_t next[kBlocks][4] = {};
#pragma unroll
  for (int u = 0; u < kBlocks; ++u) {
    if (u * kSide >= to) break;
    float sum[2][4] = {};
    multiply(sum, h, w, from, u * kSide);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const float* two = sum[r / 2] + r % 2 * 2;
      next[u][r] = pack(fmaxf(two[0], 0), fmaxf(two[1], 0));
    }
  }
#pragma unroll
  for (int u = 0; u < kBlocks; ++u)
#pragma unroll
    for (int r = 0; r < 4; ++r) h[u][r] = next[u][r];
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads)
    network(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
            float* __restrict__ y, bool resident) {
  KLAB_DYNAMIC_SHARED(__nv_bfloat16, shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
  if (resident) {
    int begin = 0;
    for (int64_t l = 0; l < s.count(); ++l, begin += elements(s, l - 1))
      bring_weights(shared + begin, s, l, weights);
    __syncthreads();
  }
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const int64_t i = i0 + warp * kSide;
    uint32_t h[kBlocks][4];
    load_inputs(h, x, s.n, s.in, i);
    const __nv_bfloat16* w = shared;
    for (int64_t l = 0; l < s.count(); ++l) {
      if (!resident) {
        __syncthreads();
        bring_weights(shared, s, l, weights);
        __syncthreads();
      }
      const int from = int(s.from(l)), to = int(s.to(l));
      if (l < s.hidden) {
        hidden_layer(h, w, from, to);
        if (resident) w += elements(s, l);
        continue;
      }
      for (int u0 = 0; u0 < to; u0 += kSide) {
        float sum[2][4] = {};
        multiply(sum, h, w, from, u0);
#pragma unroll
        for (int r = 0; r < 8; ++r) {
          const int64_t unit = u0 + r / 4 * 8 + pair + r % 2, sample = i + group + r / 2 % 2 * 8;
          const float z = sum[r / 4][r % 4];
          if (unit < to && sample < s.n) y[unit * s.n + sample] = s.logistic ? 1 / (1 + expf(-z)) : z;
        }
      }
    }
  }
}

void run(const MlpFwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  size_t all = 0, largest = 0;
  for (int64_t l = 0; l < s.count(); ++l) {
    const size_t bytes = size_t(elements(s, l)) * sizeof(__nv_bfloat16);
    all += bytes;
    largest = std::max(largest, bytes);
  }
  const bool resident = all <= kResident;
  const size_t bytes = resident ? all : largest;
  const auto kernel = s.in <= 64 && s.width <= 64 ? network<4> : network<8>;
  cuda::allow_shared(kernel, bytes);
  // As many blocks as there is room for, so that weights are brought once for many samples.
  const int64_t tiles = (s.n + kSamples - 1) / kSamples, held = cuda::device().multiprocessors * 4;
  cuda::launch(kernel, dim3(unsigned(std::min(tiles, held))), dim3(kThreads), bytes, s, x.x, x.weights, x.y,
               resident);
}

std::string supported(const MlpFwd::Shape& shape, const Host& host) {
  const MlpLayers s(shape);
  if (s.in > kMost || s.width > kMost || s.out > kMost)
    return "keeps layers of at most " + std::to_string(kMost) + " channels on the chip";
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "03_wmma",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 2},
                      .supported = supported});

}  // namespace
}  // namespace klab
