// softmax_xent_bwd.cuda.03_fused: read once, written once.
//
// CHANGE    a lane keeps logits lane, lane + 32, lane + 64 ... of its row in registers, up to 32 of them:
//           maximum, sum, loss and gradient come from there. How many is a template parameter, the next power
//           of two.
// EXPECT    c/32 load requests per row in place of 2c/32, and each exponential is taken once: rows of up to
//           1,024 classes cross the border once in each direction. At least 1.2 times at a thousand. Longer
//           rows take the parent's two loops.
// NUMERICS  sums in tree order over 32 strided partial sums. Fast exponentials.
// TRIED     on paper only: 32 registers for every row. Rows of ten would walk through 31 empty ones.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMostKept = 32;
constexpr unsigned kAll = ~0U;
constexpr float kLowest = -3.402823466e38F;

/// Statistics of a part of a row. An empty part begins at the lowest finite float: minus infinity less itself
/// would be NaN.
struct Part {
  float largest = kLowest;
  float sum = 0;  // of exp(x - largest)
};

__device__ __forceinline__ Part with(Part a, float x) {
  const float e = __expf(-fabsf(x - a.largest));
  return x > a.largest ? Part{x, a.sum * e + 1} : Part{a.largest, a.sum + e};
}
__device__ __forceinline__ Part join(Part a, Part b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

/// Over all lanes, in all lanes.
__device__ __forceinline__ Part join_lanes(Part own) {
  for (int by = 16; by > 0; by /= 2)
    own = join(own, {__shfl_xor_sync(kAll, own.largest, by), __shfl_xor_sync(kAll, own.sum, by)});
  return own;
}
__device__ __forceinline__ float max_of(float v) {
  for (int by = 16; by > 0; by /= 2) v = fmaxf(v, __shfl_xor_sync(kAll, v, by));
  return v;
}
__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(kAll, v, by);
  return v;
}

/// Warp r has row r of at most 32·kEach logits.
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    kept_gradient(int64_t n, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
                  const float* __restrict__ d_loss, float* __restrict__ loss, float* __restrict__ d_logits) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  float* d = d_logits + i * c;
  const int label = labels[i];

  float kept[kEach];  // registers have no index: every loop over it is unrolled
  float largest = kLowest;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int j = lane + 32 * k;
    kept[k] = j < c ? row[j] : kLowest;
    largest = fmaxf(largest, kept[k]);
  }
  largest = max_of(largest);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    kept[k] = lane + 32 * k < c ? __expf(kept[k] - largest) : 0;
    sum += kept[k];
  }
  sum = sum_of(sum);
  const float g = d_loss[i], scale = g / sum;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int j = lane + 32 * k;
    if (j < c) d[j] = j == label ? scale * kept[k] - g : scale * kept[k];
  }
  if (lane == 0) loss[i] = logf(sum) + (largest - row[label]);
}

__global__ void __launch_bounds__(kThreads)
    long_gradient(int64_t n, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
                  const float* __restrict__ d_loss, float* __restrict__ loss, float* __restrict__ d_logits) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  float* d = d_logits + i * c;
  const int label = labels[i];

  Part part;
  for (int64_t j = lane; j < c; j += 32) part = with(part, row[j]);
  part = join_lanes(part);
  const float g = d_loss[i], scale = g / part.sum;
  for (int64_t j = lane; j < c; j += 32) {
    const float share = scale * __expf(row[j] - part.largest);
    d[j] = j == label ? share - g : share;
  }
  if (lane == 0) loss[i] = logf(part.sum) + (part.largest - row[label]);
}

using Kernel = void (*)(int64_t, int, const float*, const int32_t*, const float*, float*, float*);

/// The kernel that keeps no more of c logits than it must.
template <int kEach = 1>
Kernel kernel_for(int64_t c) {
  if constexpr (kEach > kMostKept)
    return long_gradient;
  else
    return c <= 32 * kEach ? kept_gradient<kEach> : kernel_for<2 * kEach>(c);
}

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(kernel_for(c), unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, int(c), x.logits, x.labels,
               x.d_loss, x.loss, x.d_logits);
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "02_online",
                              .forward = "05_online",
                              .tiles = {kWarps, 32, 64, 128, 256, 512, 1024},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
