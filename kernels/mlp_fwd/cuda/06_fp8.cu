// mlp_fwd.cuda.06_fp8: bytes of e4m3, each sample and each matrix with a power of two of its own.
//
// CHANGE    factors are e4m3 in place of halves: 4 digits for 11. mma.m16n8k32 takes 32 channels for 16,
//           ldmatrix loads twice as many weights, and a layer's sums become the next layer's bytes in the
//           lane that has them. This changes the order of the channels, and weights are copied in the same
//           order.
// EXPECT    half the products, half the requests of weights, half the shared memory. A maximum over four
//           lanes a layer for one over a warp. 1.2 times the parent: the time for x and y stays.
// NUMERICS  weights, inputs and activations rounded to e4m3 (u = 2^-4) relative to the largest of their
//           sample or matrix; values below 2^-18 of it are lost; float sums. The order of the 32 products of
//           one instruction is the hardware's, which has been measured to keep some 14 bits of them
//           (matmul_fp8); instructions follow each other in order of the channels, four at most. The executor
//           adds exactly and rounds once an instruction.
// NEEDS     compute capability 8.9; layers of at most 128 channels.
// TRIED     see NOTES.md, cuda.06_fp8
// SASS      HMMA LDSM; no HMMA.BF16
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/fp8.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kSamples = kSide * kWarps;
constexpr int64_t kMost = 128;
constexpr size_t kResident = 96 << 10;  // bytes of weights that stay in shared memory

/// Bytes of layer l in shared memory: whole fragments.
__host__ __device__ inline int bytes_of(const MlpLayers& s, int64_t l) {
  return mlp_whole(s.to(l)) * byte_stride(s.from(l));
}

/// Computes y, the last layer's result for the rows.
template <int kBlocks>
__device__ __forceinline__ void last_layer(const MlpLayers& s, const ByteRows<kBlocks>& rows,
                                           const int (&e)[2], const uint8_t* w, int of_w, int64_t i,
                                           float* __restrict__ y) {
  const int from = int(s.width), to = int(s.out);
  for (int u0 = 0; u0 < to; u0 += kSide) {
    float sum[2][4] = {};
    multiply_bytes<E4m3>(sum[0], sum[1], rows, w, byte_stride(from), from, u0);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int64_t unit = u0 + channel_of(0, k / 4, k % 4), sample = i + row8(k % 4 / 2);
      const float z = times_power(sum[k / 4][k % 4], -e[k % 4 / 2] - of_w);
      if (unit < to && sample < s.n) y[unit * s.n + sample] = s.logistic ? 1 / (1 + expf(-z)) : z;
    }
  }
}

template <int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks <= 2 ? 4 : 1)  // four blocks, as are launched
    network(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
            const int* __restrict__ exponents, float* __restrict__ y, bool resident) {
  KLAB_DYNAMIC_SHARED(uint8_t, shared);
  const int warp = threadIdx.x / 32;
  if (resident) {
    int begin = 0;
    for (int64_t l = 0; l < s.count(); ++l, begin += bytes_of(s, l - 1))
      bring_bytes<false>(shared + begin, s, l, weights, byte_exponent_of_weights(exponents[l]));
    __syncthreads();
  }
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const int64_t i = i0 + warp * kSide;
    ByteRows<kBlocks> h;
    ByteSums<kBlocks> sums;
    int e[2] = {};  // h is 2^e times the true value
    load_values(sums, x, s.n, s.in, i);
    round_bytes<E4m3>(h, e, sums);
    const uint8_t* w = shared;
    for (int64_t l = 0; l < s.count(); ++l) {
      const int of_w = byte_exponent_of_weights(exponents[l]);
      if (!resident) {
        __syncthreads();
        bring_bytes<false>(shared, s, l, weights, of_w);
        __syncthreads();
      }
      if (l == s.hidden) {
        last_layer(s, h, e, w, of_w, i, y);
        continue;
      }
      hidden_bytes(h, e, sums, w, of_w, int(s.from(l)), int(s.to(l)));
      if (resident) w += bytes_of(s, l);
    }
  }
}

void run(const MlpFwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  if (s.n == 0) return;
  size_t all = 0, largest = 0;
  for (int64_t l = 0; l < s.count(); ++l) {
    all += size_t(bytes_of(s, l));
    largest = std::max(largest, size_t(bytes_of(s, l)));
  }
  const bool resident = all <= kResident;
  const size_t bytes = resident ? all : largest;
  const auto kernel = s.in <= 64 && s.width <= 64 ? network<2> : network<4>;
  cuda::Scratch exponents(kMostLayers * sizeof(int));
  cuda::launch(find_exponents, dim3(unsigned(s.count())), dim3(kLookers), 0, s, x.weights,
               exponents.as<int>());
  cuda::allow_shared(kernel, bytes);
  // As many blocks as there is room for, so that weights are brought once for many samples.
  const int64_t tiles = (s.n + kSamples - 1) / kSamples, held = cuda::device().multiprocessors * 4;
  cuda::launch(kernel, dim3(unsigned(std::min(tiles, held))), dim3(kThreads), bytes, s, x.x, x.weights,
               exponents.as<int>(), x.y, resident);
}

std::string supported(const MlpFwd::Shape& shape, const Host& host) {
  const MlpLayers s(shape);
  if (s.in > kMost || s.width > kMost || s.out > kMost)
    return "keeps layers of at most " + std::to_string(kMost) + " channels on the chip";
  return cuda::needs(host, 89);
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "05_half",
                      .numerics = {.unit = Unit::e4m3},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.2},
                      .when = {{1 << 18, 32, 64, 2, 3, 1},
                               "a plan that names it, for inference that may err by percents"},
                      .supported = supported});

}  // namespace
}  // namespace klab
