// rmsnorm_fwd.cuda.01_warp_per_row: 32 lanes agree on a sum of squares.
//
// CHANGE    a warp has a row: every 32nd feature to a lane, five shuffles, then the output.
// EXPECT    the row is requested twice, c/32 times each; no barrier.
// NUMERICS  32 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    normalize(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
              const float* __restrict__ epsilon, float* __restrict__ y, float* __restrict__ rrms_of) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = x + i * c;
  float squares = 0;
  for (int64_t j = lane; j < c; j += 32) squares += row[j] * row[j];
  const float rrms = 1 / sqrtf(sum_of(squares) / float(c) + *epsilon);
  for (int64_t j = lane; j < c; j += 32) y[i * c + j] = gamma[j] * (row[j] * rrms);
  if (lane == 0) rrms_of[i] = rrms;
}

void run(const RmsnormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(normalize, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.x, x.gamma, x.epsilon,
               x.y, x.rrms);
}

KLAB_VARIANT(RmsnormFwd, {.run = run, .tiles = {kWarps, 32}});

}  // namespace
}  // namespace klab
