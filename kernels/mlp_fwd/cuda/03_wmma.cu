// mlp_fwd.cuda.03_wmma: tensor cores on 16 samples per warp.
//
// CHANGE    weights and activations are rounded to bfloat16 and multiplied 16 x 16 x 16 at a time. A warp
//           takes its own 16 samples through all layers, so that warps wait for each other only when the next
//           layer's weights are copied.
// EXPECT    feature-major is right as it is: units x samples = weights (rows) · activations (rows). Sums
//           leave a fragment through shared memory, since its layout is unspecified: that, and copying the
//           weights for 128 samples only, is the limit. At least twice the parent.
// NUMERICS  weights, inputs and activations rounded to bfloat16 (u = 2^-8), float sums: 2u·|W||h| a layer,
//           which the reference's recurrence carries with that u; its terms leave room for two.
// NEEDS     compute capability 8.0; layers of at most 128 channels.
// SASS      HMMA.BF16; no LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/wmma.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int kStride =
    kSamples + 8;  // of a row of activations: 16 bytes more, so that rows begin in other banks
constexpr int64_t kMost = 128;

__global__ void __launch_bounds__(kThreads)
    network(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
            float* __restrict__ y) {
  KLAB_DYNAMIC_SHARED(__nv_bfloat16, buffers);
  __shared__ __align__(128) float sums_of_warp[kWarps][kSide * kSide];
  const int channels = int(mlp_whole(s.widest())), warp = threadIdx.x / 32;
  __nv_bfloat16* w = buffers;  // [channels][channels + 8]
  __nv_bfloat16* h = w + channels * (channels + 8);
  __nv_bfloat16* next = h + channels * kStride;
  const int column = warp * kSide;  // of this warp's samples
  const int64_t i0 = int64_t(blockIdx.x) * kSamples;
  for (int e = int(threadIdx.x); e < int(mlp_whole(s.in)) * kSamples; e += kThreads) {
    const int c = e / kSamples;
    const int64_t i = i0 + e % kSamples;
    h[c * kStride + e % kSamples] = __float2bfloat16(c < s.in && i < s.n ? x[c * s.n + i] : 0);
  }
  for (int64_t l = 0; l < s.count(); ++l) {
    const int from = int(s.from(l)), to = int(s.to(l)), stride = mlp_stride(from);
    __syncthreads();  // the inputs are there; the weights before are done with
    mlp_bring_weights(w, s, l, weights);
    __syncthreads();
    for (int u0 = 0; u0 < to; u0 += kSide) {
      Sums sums;
      wmma::fill_fragment(sums, 0.0F);
      multiply<wmma::row_major, wmma::row_major>(sums, w, stride, u0, h, kStride, column, from);
      unfold(sums_of_warp[warp], sums, [&](int r, int c, float sum) {
        const int unit = u0 + r, sample = column + c;
        if (l < s.hidden)
          next[unit * kStride + sample] = __float2bfloat16(fmaxf(sum, 0));
        else if (unit < to && i0 + sample < s.n)
          y[unit * s.n + i0 + sample] = s.logistic ? 1 / (1 + expf(-sum)) : sum;
      });
    }
    __nv_bfloat16* other = h;
    h = next;
    next = other;
  }
}

void run(const MlpFwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  const auto channels = size_t(mlp_whole(s.widest()));
  const size_t bytes = (channels * (channels + 8) + 2 * channels * kStride) * sizeof(__nv_bfloat16);
  cuda::allow_shared(network, bytes);
  cuda::launch(network, dim3(unsigned((s.n + kSamples - 1) / kSamples)), dim3(kThreads), bytes, s, x.x,
               x.weights, x.y);
}

std::string supported(const MlpFwd::Shape& shape, const Host& host) {
  const MlpLayers s(shape);
  if (s.in > kMost || s.width > kMost || s.out > kMost)
    return "keeps layers of at most " + std::to_string(kMost) + " channels in shared memory";
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "02_shared_resident",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 2},
                      .supported = supported});

}  // namespace
}  // namespace klab
