// mlp_fwd.cuda.05_half: halves, each warp's activations and each matrix with a power of two of their own.
//
// CHANGE    factors are halves in place of bfloat16s: 11 digits for 8. A half reaches from 2^-24 to 2^16
//           only. So a warp scales its activations to just below 2^15 after each layer, by a power of two
//           that it keeps as an integer, and an earlier kernel finds that of each matrix.
// EXPECT    an eighth of the parent's error for the same sectors and products; a maximum over the warp a
//           layer, and a launch. No faster than the parent: it is for trainings that store halves, which it
//           multiplies as they are.
// NUMERICS  weights, inputs and activations rounded to half precision (u = 2^-11) relative to the largest of
//           a warp's 16 samples, float sums; values below 2^-39 of the largest are lost. The order of the 16
//           products of one instruction is the hardware's; the executor adds them exactly and rounds once.
// NEEDS     compute capability 8.0; layers of at most 128 channels.
// SASS      HMMA LDSM; no HMMA.BF16 LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/device.h"
#include "kernels/common/mlp/halves.h"
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
__global__ void __launch_bounds__(kThreads, 1)  // registers for all of a warp's numbers
    network(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
            const int* __restrict__ exponents, float* __restrict__ y, bool resident) {
  KLAB_DYNAMIC_SHARED(__half, shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
  if (resident) {
    int begin = 0;
    for (int64_t l = 0; l < s.count(); ++l, begin += elements(s, l - 1))
      bring_halves(shared + begin, s, l, weights, exponents[l]);
    __syncthreads();
  }
  for (int64_t i0 = int64_t(blockIdx.x) * kSamples; i0 < s.n; i0 += int64_t(gridDim.x) * kSamples) {
    const int64_t i = i0 + warp * kSide;
    Rows<kBlocks> h;
    int e;  // h is 2^e times the true value
    load_halves(h, e, x, s.n, s.in, i);
    const __half* w = shared;
    for (int64_t l = 0; l < s.count(); ++l) {
      if (!resident) {
        __syncthreads();
        bring_halves(shared, s, l, weights, exponents[l]);
        __syncthreads();
      }
      const int from = int(s.from(l)), to = int(s.to(l));
      if (l < s.hidden) {
        hidden_halves(h, e, w, exponents[l], from, to);
        if (resident) w += elements(s, l);
        continue;
      }
      for (int u0 = 0; u0 < to; u0 += kSide) {
        float sum[2][4] = {};
        multiply<false>(sum, h, w, mlp_stride(from), from, u0);
#pragma unroll
        for (int r = 0; r < 8; ++r) {
          const int64_t unit = u0 + r / 4 * 8 + pair + r % 2, sample = i + group + r / 2 % 2 * 8;
          const float z = times_power(sum[r / 4][r % 4], -e - exponents[l]);
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
    const size_t bytes = size_t(elements(s, l)) * sizeof(__half);
    all += bytes;
    largest = std::max(largest, bytes);
  }
  const bool resident = all <= kResident;
  const size_t bytes = resident ? all : largest;
  const auto kernel = s.in <= 64 && s.width <= 64 ? network<4> : network<8>;
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
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "04_mma_sync",
                      .numerics = {.unit = Unit::f16},
                      .tiles = {kSamples},
                      .when = {{1 << 18, 32, 64, 2, 3, 1}, "trainings that store halves (--precision f16)"},
                      .supported = supported});

}  // namespace
}  // namespace klab
