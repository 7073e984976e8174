// mlp_bwd.cuda.07_kept_sums: weights and their gradient stay on the chip from the first sample to the last.
//
// CHANGE    a block keeps the weights of all layers in shared memory, rounded once, and takes one tile of 128
//           samples after the other. The gradient of the weights is the sum of mma.sync over all of them: each
//           warp owns squares of 16 by 16 of every layer, in registers, and writes them once at the end. The
//           gradients of all layers are kept like the activations, so that a tile needs two barriers, and
//           the loads of the next tile's inputs are on their way when a warp waits at the second one.
// EXPECT    per 64 samples the parent reads and writes 57 KB of partial sums and loads and rounds the weights
//           twice; both vanish. What stays is 268 bytes a sample of x, d_y and d_x, 17 us of 2^18 samples, and
//           about 4,200 cycles of shared memory for 128 samples, 35 us. 2.3 times the parent.
// NUMERICS  as the parent, sums over a block's samples in their order, then over the blocks. The logistic's
//           derivative from one exponential.
// NEEDS     compute capability 8.0; at most 2 hidden layers of at most 64 channels, 64 inputs, 16 outputs; up
//           to 117 KB of shared memory.
// TRIED     see NOTES.md, cuda.07_kept_sums
// SASS      HMMA.BF16 LDSM.M88 LDSM.MT88; no LDL STL CALL.div_*64
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/mlp/resident.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int64_t kMostIn = 64, kMostHidden = 2, kMostOut = kSide;

/// rows = W^T rows where h > 0.
__device__ __forceinline__ void input_gradient(Rows<kWide>& rows, const __nv_bfloat16* w, int terms,
                                               const __nv_bfloat16* h) {
  const int warp = int(threadIdx.x) / 32;
  layer<true>(rows, w, kWidthStride, terms, kWidth, [&](const float* two, int r, int b) {
    const auto of_h = *reinterpret_cast<const uint32_t*>(
        &h[(warp * kSide + row(r)) * kWidthStride + b * kSide + column(r)]);
    // Clipped at zero, so a nonzero value is positive.
    return pack(of_h & 0xFFFFU ? two[0] : 0, of_h >> 16 ? two[1] : 0);
  });
}

template <int kIn, int kHidden>
__global__ void __launch_bounds__(kThreads, kIn <= 2 || kHidden == 1 ? 2 : 1)
    gradients(MlpLayers s, const float* __restrict__ x, const float* __restrict__ weights,
              const float* __restrict__ d_y, float* __restrict__ d_x, float* __restrict__ copies) {
  using At = Places<kIn, kHidden>;
  KLAB_DYNAMIC_SHARED(__nv_bfloat16, shared);
  const int64_t first = int64_t(blockIdx.x) * kSamples + threadIdx.x / 32 * kSide;  // of this warp
  float next_x[kIn][4][2];
  load_raw(next_x, x, s.n, int(s.in), first);
  bring_all<kIn, kHidden>(shared, s, weights);
  Sums<kIn, kHidden> sums;
  __syncthreads();
  int64_t i = first;
  for (int64_t tile = blockIdx.x; tile * kSamples < s.n;
       tile += gridDim.x, i += int64_t(gridDim.x) * kSamples) {
    Rows<kWide> rows = {};
#pragma unroll
    for (int b = 0; b < kIn; ++b)
#pragma unroll
      for (int r = 0; r < 4; ++r) rows[b][r] = pack(next_x[b][r][0], next_x[b][r][1]);
    keep<kIn>(shared + At::h(0), At::kInStride, rows);
#pragma unroll
    for (int l = 0; l < kHidden; ++l) {
      layer<false>(rows, shared + At::weights(l), At::from_stride(l), l == 0 ? At::kInputs : kWidth, kWidth,
                   [](const float* two, int, int) { return pack(fmaxf(two[0], 0), fmaxf(two[1], 0)); });
      keep<kWide>(shared + At::h(l + 1), kWidthStride, rows);
    }
    float given[1][4][2];
    load_raw(given, d_y, s.n, int(s.out), i);
    if (s.logistic) {
      layer<false>(rows, shared + At::weights(kHidden), kWidthStride, kWidth, kSide,
                   [&](const float* z, int r, int) {
                     float d[2];
#pragma unroll
                     for (int e = 0; e < 2; ++e) {
                       const float t = expf(-fabsf(z[e]));  // y (1 - y) is t / (1 + t)^2 for both signs
                       d[e] = given[0][r][e] * __fdividef(t, (1 + t) * (1 + t));
                     }
                     return pack(d[0], d[1]);
                   });
    } else {
#pragma unroll
      for (int r = 0; r < 4; ++r) rows[0][r] = pack(given[0][r][0], given[0][r][1]);
    }
    keep<1>(shared + At::d(kHidden), kOutStride, rows);
#pragma unroll
    for (int l = kHidden; l > 0; --l) {
      input_gradient(rows, shared + At::weights(l), l == kHidden ? kSide : kWidth, shared + At::h(l));
      keep<kWide>(shared + At::d(l - 1), kWidthStride, rows);
    }
    const bool inner = i + kSide <= s.n && int(s.in) == At::kInputs;
    float* const to = d_x + column(0) * s.n + i + row(0);
    layer<true>(rows, shared, At::kInStride, kWidth, At::kInputs, [&](const float* two, int r, int b) {
      if (inner) {
        float* const p = to + (b * kSide + r / 2 * 8) * s.n + r % 2 * 8;
        p[0] = two[0];
        p[s.n] = two[1];
        return 0U;
      }
      const int c = b * kSide + column(r);
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (c + e < int(s.in) && i + row(r) < s.n) d_x[(c + e) * s.n + i + row(r)] = two[e];
      return 0U;
    });
    __syncthreads();  // D and h of all warps are complete
    sums.add_tile(shared);
    load_raw(next_x, x, s.n, int(s.in), i + int64_t(gridDim.x) * kSamples);
    __syncthreads();  // all warps have read them
  }
  sums.write(copies + blockIdx.x * int64_t(copy_size<kIn, kHidden>()));
}

constexpr int kSlices = 8;

/// d_weights += the blocks' copies: 32 weights a block, the copies shared out among 8 warps, in the same order
/// in every run.
template <int kIn, int kHidden>
__global__ void __launch_bounds__(32 * kSlices)
    add_copies(MlpLayers s, const float* __restrict__ copies, int blocks, float* __restrict__ d_weights) {
  __shared__ float part[kSlices][32];
  const int lane = int(threadIdx.x) % 32, slice = int(threadIdx.x) / 32;
  const int e = int(blockIdx.x) * 32 + lane;
  const bool there = e < int(s.weight_begin(s.count()));
  float sum = 0;
  if (there) {
    int l = 0;
    while (e >= int(s.weight_begin(l + 1))) ++l;
    const int within = e - int(s.weight_begin(l)), from = int(s.from(l));
    const int at = copy_begin<kIn>(l) + within / from * (l == 0 ? kIn * kSide : kWidth) + within % from;
#pragma unroll 4
    for (int b = slice; b < blocks; b += kSlices) sum += copies[b * int64_t(copy_size<kIn, kHidden>()) + at];
  }
  part[slice][lane] = sum;
  __syncthreads();
  if (slice > 0 || !there) return;
  for (int k = 1; k < kSlices; ++k) sum += part[k][lane];
  d_weights[e] += sum;
}

template <int kIn, int kHidden>
void run_with(const MlpBwd::Args<float>& x) {
  const MlpLayers s(x.shape);
  constexpr size_t kBytes = Places<kIn, kHidden>::kBytes;
  const int64_t fit = int64_t((cuda::device().shared_per_block_optin + 1024) / (kBytes + 1024));
  const int64_t held = std::clamp<int64_t>(fit, 1, 2) * cuda::device().multiprocessors;
  const auto blocks = unsigned(std::min((s.n + kSamples - 1) / kSamples, held));
  cuda::Scratch copies(blocks * size_t(copy_size<kIn, kHidden>()) * sizeof(float));
  cuda::allow_shared(gradients<kIn, kHidden>, kBytes);
  cuda::launch(gradients<kIn, kHidden>, dim3(blocks), dim3(kThreads), kBytes, s, x.x, x.weights, x.d_y, x.d_x,
               copies.as<float>());
  cuda::launch(add_copies<kIn, kHidden>, dim3(unsigned((s.weight_begin(s.count()) + 31) / 32)),
               dim3(32 * kSlices), 0, s, copies.as<float>(), int(blocks), x.d_weights);
}

void run(const MlpBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  if (x.shape.in <= 2 * kSide)
    x.shape.hidden == 1 ? run_with<2, 1>(x) : run_with<2, 2>(x);
  else
    x.shape.hidden == 1 ? run_with<4, 1>(x) : run_with<4, 2>(x);
}

std::string supported(const MlpBwd::Shape& s, const Host& host) {
  if (s.hidden > kMostHidden || s.width > kWidth || s.in > kMostIn || s.out > kMostOut)
    return "keeps the gradient of at most 2 hidden layers of 64 channels, 64 inputs and 16 outputs in "
           "registers";
  return cuda::needs(host, 80);
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "04_mma_sync",
                      .forward = "04_mma_sync",
                      .numerics = {.unit = Unit::bf16},
                      .tiles = {kSamples},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 2.3},
                      .supported = supported});

}  // namespace
}  // namespace klab
