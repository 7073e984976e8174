// mlp_fwd.cuda.07_two_tiles: a warp has 32 samples, and all blocks fit at once.
//
// CHANGE    each ldmatrix of weights serves two tiles of 16 samples. Registers are limited so that two blocks fit on a
//           multiprocessor, and the launch has no more: all run at the same time, and take tiles until none is left.
// EXPECT    half of the parent's loads of weights, and twice the loads of x in flight in a warp. The parent starts four blocks
//           a multiprocessor where three fit, and the fourth begins when the others have ended: 8 tiles one after the other in
//           place of 5.2. Here 1,024 tiles of 256 samples on 264 blocks are 4. 37 MB of x and y are 9 us; at least 1.4 times
//           the parent.
// NUMERICS  as the parent.
// NEEDS     as the parent.
// SASS      HMMA.BF16 LDSM; no LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/rows.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kTiles = 2, kSamples = kTiles * kSide * kWarps;
constexpr int64_t kMost = 128;
constexpr size_t kResident = 96 << 10;  // bytes of weights that stay in shared memory

/// Elements of layer l in shared memory: whole fragments.
__host__ __device__ inline int elements(const MlpLayers& s, int64_t l) {
  return mlp_whole(s.to(l)) * mlp_stride(s.from(l));
}

/// Sums of 16 units from u0 on, of both tiles.
template <int kBlocks>
__device__ __forceinline__ void multiply_tiles(float (&sum)[kTiles][2][4], const Rows<kBlocks> (&h)[kTiles],
                                               const __nv_bfloat16* w, int stride, int channels, int u0) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    if (b * kSide >= channels) break;
    uint32_t of_w[4];  // columns 0-7 at steps 0-7 and 8-15 of the sum, then columns 8-15
    cuda::ldmatrix_x4(of_w, w + (u0 + lane % 8 + lane / 16 * 8) * stride + b * kSide + lane / 8 % 2 * 8);
    const uint32_t low[2] = {of_w[0], of_w[1]}, high[2] = {of_w[2], of_w[3]};
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      cuda::mma_m16n8k16_bf16(sum[t][0], h[t][b], low, sum[t][0]);
      cuda::mma_m16n8k16_bf16(sum[t][1], h[t][b], high, sum[t][1]);
    }
  }
}

/// rows = relu(W rows) for both tiles.
template <int kBlocks>
__device__ __forceinline__ void hidden_layers(Rows<kBlocks> (&h)[kTiles], const __nv_bfloat16* w, int from,
                                              int to) {
  Rows<kBlocks> next[kTiles] = {};
#pragma unroll
  for (int u = 0; u < kBlocks; ++u) {
    if (u * kSide >= to) break;
    float sum[kTiles][2][4] = {};
    multiply_tiles(sum, h, w, mlp_stride(from), from, u * kSide);
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float* const two = pair_of(sum[t], r);
        next[t][u][r] = pack(fmaxf(two[0], 0), fmaxf(two[1], 0));
      }
  }
#pragma unroll
  for (int k = 0; k < kTiles * kBlocks * 4; ++k)
    h[k / 4 / kBlocks][k / 4 % kBlocks][k % 4] = next[k / 4 / kBlocks][k / 4 % kBlocks][k % 4];
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks == 4 ? 2 : 1)
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
    const int64_t i = i0 + warp * kTiles * kSide;
    Rows<kBlocks> h[kTiles];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) load_rows(h[t], x, s.n, s.in, i + t * kSide);
    const __nv_bfloat16* w = shared;
    for (int64_t l = 0; l < s.count(); ++l) {
      if (!resident) {
        __syncthreads();
        mlp_bring_weights(shared, s, l, weights);
        __syncthreads();
      }
      const int from = int(s.from(l)), to = int(s.to(l));
      if (l < s.hidden) {
        hidden_layers(h, w, from, to);
        if (resident) w += elements(s, l);
        continue;
      }
      for (int u0 = 0; u0 < to; u0 += kSide) {
        float sum[kTiles][2][4] = {};
        multiply_tiles(sum, h, w, mlp_stride(from), from, u0);
#pragma unroll
        for (int r = 0; r < 8 * kTiles; ++r) {
          const int64_t unit = u0 + r / 4 % 2 * 8 + pair + r % 2;
          const int64_t sample = i + r / 8 * kSide + group + r / 2 % 2 * 8;
          const float z = sum[r / 8][r / 4 % 2][r % 4];
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
  const bool narrow = s.in <= 64 && s.width <= 64;
  const auto kernel = narrow ? network<4> : network<8>;
  cuda::allow_shared(kernel, bytes);
  // As many blocks as there is room for, so that weights are brought once for many samples.
  const int64_t tiles = (s.n + kSamples - 1) / kSamples,
                held = cuda::device().multiprocessors * (narrow ? 2 : 1);
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
                      .parent = "04_mma_sync",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.4},
                      .supported = supported});

}  // namespace
}  // namespace klab
