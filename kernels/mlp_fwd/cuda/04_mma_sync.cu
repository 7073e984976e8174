// mlp_fwd.cuda.04_mma_sync: activations in registers from the first layer to the last.
//
// CHANGE    mma.sync with samples as rows: a lane's part of a product's result is its part of the next
//           product's left factor. So a layer's sums are rounded, clipped and used where they are. Weights
//           lie in shared memory, all of them once for all the samples of a block where they fit.
// EXPECT    activations touch neither global nor shared memory; a layer is ldmatrix on its weights and
//           mma.sync, 16 samples per warp. x is read by lanes in groups of 8 samples, whole sectors. At least
//           twice the parent.
// NUMERICS  as the parent.
// NEEDS     compute capability 8.0; layers of at most 128 channels.
// SASS      HMMA.BF16 LDSM; no LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/rows.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int64_t kMost = 128;
constexpr size_t kResident = 96 << 10;  // bytes of weights that stay in shared memory

/// Elements of layer l in shared memory: whole fragments.
__host__ __device__ inline int elements(const MlpLayers& s, int64_t l) {
  return mlp_whole(s.to(l)) * mlp_stride(s.from(l));
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
      mlp_bring_weights(shared + begin, s, l, weights);
    __syncthreads();
  }
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const int64_t i = i0 + warp * kSide;
    Rows<kBlocks> h;
    load_rows(h, x, s.n, s.in, i);
    const __nv_bfloat16* w = shared;
    for (int64_t l = 0; l < s.count(); ++l) {
      if (!resident) {
        __syncthreads();
        mlp_bring_weights(shared, s, l, weights);
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
        multiply<false>(sum, h, w, mlp_stride(from), from, u0);
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
