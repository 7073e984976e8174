// mlp_fwd.cuda.02_shared_resident: a block keeps 64 samples in shared memory through all layers.
//
// CHANGE    one launch. Activations of 64 samples lie in shared memory, two buffers in turn; x is read once,
//           y written once. Within a layer a thread has 4 units of 4 samples in registers; weights come in
//           tiles of 64 units by 16 channels.
// EXPECT    4·(in + out) bytes per sample in place of 704 to 1164, and one load of four weights and one of four
//           activations for 16 multiply-adds. No conflicts: 16 lanes read one row of 64 samples. Several
//           times the parent.
// NUMERICS  as the parent.
// NEEDS     in and width of at most 192: two buffers of 48 KB.
// SASS      LDS.128; no LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kSamples = 64, kUnits = 64, kDepth = 16, kOwn = 4;  // a thread has kOwn units of kOwn samples
constexpr int kAcross = kSamples / kOwn, kThreads = kAcross * (kUnits / kOwn);
constexpr int kPadded = kUnits + 4;
constexpr int64_t kMost = 192;

/// Sums of one thread: units u0 + 4·(t / 16) .. + 3 of samples 4·(t % 16) .. + 3. All threads of the block
/// call it.
__device__ __forceinline__ void multiply(float (&sum)[kOwn][kOwn], float (*tile)[kPadded], const float* h,
                                         const float* __restrict__ w, int from, int to, int u0) {
  const int t = threadIdx.x, unit = t / kAcross * kOwn, sample = t % kAcross * kOwn;
  for (int c0 = 0; c0 < from; c0 += kDepth) {
    for (int e = t; e < kUnits * kDepth; e += kThreads) {
      const int r = e / kDepth, c = e % kDepth;
      tile[c][r] = u0 + r < to && c0 + c < from ? w[(u0 + r) * from + c0 + c] : 0;
    }
    __syncthreads();
    const int depth = min(kDepth, from - c0);
    for (int c = 0; c < depth; ++c) {
      const float4 w4 = *reinterpret_cast<const float4*>(&tile[c][unit]);
      const float4 h4 = *reinterpret_cast<const float4*>(&h[(c0 + c) * kSamples + sample]);
      const float of_w[kOwn] = {w4.x, w4.y, w4.z, w4.w}, of_h[kOwn] = {h4.x, h4.y, h4.z, h4.w};
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int s = 0; s < kOwn; ++s) sum[r][s] += of_w[r] * of_h[s];
    }
    __syncthreads();
  }
}

// Four blocks a multiprocessor, so 64 registers a thread: by itself nvcc takes 48, and one of the sums spills on sm_120.
__global__ void __launch_bounds__(kThreads, 4)
    network(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
            float* __restrict__ y) {
  KLAB_DYNAMIC_SHARED(float, buffers);
  __shared__ __align__(16) float tile[kDepth][kPadded];  // [channel][unit]
  const int64_t i0 = int64_t(blockIdx.x) * kSamples;
  float *h = buffers, *next = buffers + (s.in > s.width ? s.in : s.width) * kSamples;
  for (int64_t e = threadIdx.x; e < s.in * kSamples; e += kThreads) {
    const int64_t c = e / kSamples, i = i0 + e % kSamples;
    h[e] = i < s.n ? x[c * s.n + i] : 0;
  }
  __syncthreads();
  const int row = int(threadIdx.x) / kAcross * kOwn, column = int(threadIdx.x) % kAcross * kOwn;
  for (int64_t l = 0; l < s.count(); ++l) {
    const int from = int(s.from(l)), to = int(s.to(l));
    for (int u0 = 0; u0 < to; u0 += kUnits) {
      float sum[kOwn][kOwn] = {};
      multiply(sum, tile, h, weights + s.weight_begin(l), from, to, u0);
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        const int unit = u0 + row + r;
        if (unit >= to) break;
        if (l < s.hidden) {
          *reinterpret_cast<float4*>(&next[unit * kSamples + column]) =
              make_float4(fmaxf(sum[r][0], 0), fmaxf(sum[r][1], 0), fmaxf(sum[r][2], 0), fmaxf(sum[r][3], 0));
          continue;
        }
#pragma unroll
        for (int e = 0; e < kOwn; ++e)
          if (i0 + column + e < s.n)
            y[unit * s.n + i0 + column + e] = s.logistic ? 1 / (1 + expf(-sum[r][e])) : sum[r][e];
      }
    }
    __syncthreads();  // all units of the layer are there
    float* other = h;
    h = next;
    next = other;
  }
}

void run(const MlpFwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  const size_t bytes = 2 * size_t(std::max(s.in, s.width)) * kSamples * sizeof(float);
  cuda::allow_shared(network, bytes);
  cuda::launch(network, dim3(unsigned((s.n + kSamples - 1) / kSamples)), dim3(kThreads), bytes, s, x.x,
               x.weights, x.y);
}

std::string supported(const MlpFwd::Shape& shape, const Host&) {
  const MlpLayers s(shape);
  if (s.in <= kMost && s.width <= kMost) return "";
  return "keeps at most " + std::to_string(kMost) + " channels in shared memory";
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "01_layer_by_layer",
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 3},
                      .supported = supported});

}  // namespace
}  // namespace klab
