// softmax_xent_bwd.cuda.02_online: two loops.
//
// CHANGE    maximum and sum in one reading, as pairs that join; the second reading makes the gradients.
// EXPECT    2c/32 load requests per row in place of 3c/32. At least 1.2 times for rows that do not stay near;
//           little at a thousand classes.
// NUMERICS  a partial sum is scaled when its maximum grows. Fast exponentials.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = ~0U;

/// Statistics of a part of a row. An empty part begins at the lowest finite float: minus infinity less itself
/// would be NaN.
struct Part {
  float largest = -3.402823466e38F;
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

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    gradient(int64_t n, int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             const float* __restrict__ d_loss, float* __restrict__ loss, float* __restrict__ d_logits) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  float* d = d_logits + i * c;
  const int64_t label = labels[i];

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

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(gradient, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.logits, x.labels, x.d_loss,
               x.loss, x.d_logits);
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "01_warp_per_row",
                              .forward = "05_online",
                              .tiles = {kWarps, 32},
                              .expect = {.shape = {128, 50257}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
