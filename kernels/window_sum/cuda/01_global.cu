// window_sum.cuda.01_global: a thread an output, every element from global memory.
//
// CHANGE    the naive loop over the window, with a thread for each output.
// EXPECT    neighboring lanes read neighboring floats, so a request is 128 bytes in a row: 4 sectors when
//           they begin on 32 bytes, 5 on the other seven of eight places, 4.9 in the mean. Requests are 2r+1
//           a warp; L1 answers nearly all of them, and how many it can answer is the limit: time grows with
//           r, bytes do not.
// NUMERICS  one float accumulator a window, from left to right.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    sums(const float* __restrict__ x, float* __restrict__ y, int64_t n, int64_t r) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const int64_t begin = max(i - r, int64_t(0)), end = min(i + r + 1, n);
  float sum = 0;
  for (int64_t j = begin; j < end; ++j) sum += x[j];
  y[i] = sum;
}

void run(const WindowSum::Args<float>& x) {
  const auto [n, radius] = x.shape;
  if (n == 0) return;
  const int64_t r = radius < n ? radius : n;  // beyond n, a window holds everything
  cuda::launch(sums, unsigned((n + kThreads - 1) / kThreads), kThreads, 0, x.x, x.y, n, r);
}

KLAB_VARIANT(WindowSum, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
