// window_sum.cuda.02_shared_tile: each element fetched once a block.
//
// CHANGE    a block loads the elements that its 256 windows cover, outputs and a halo of r to either side,
//           into shared memory and adds from there. Longer windows go piece by piece.
// EXPECT    requests to global memory fall from 2r+1 a warp to (256 + 2r)/256; the 2r+1 loads per thread are
//           now of shared memory: 32 neighbors in 32 banks, no conflict, and one turn each where a request
//           that crosses a cache line takes two. At least 1.2 times at r = 100; at r = 3 the barriers cost as
//           much as the loads save.
// NUMERICS  as the parent: the same additions in the same order, so the same bits.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 320;  // floats; radii up to 32 need one piece

__global__ void __launch_bounds__(kThreads)
    sums(const float* __restrict__ x, float* __restrict__ y, int64_t n, int64_t r) {
  __shared__ float tile[kTile];
  const int thread = int(threadIdx.x);
  const int64_t first = int64_t(blockIdx.x) * kThreads, i = first + thread;
  const int64_t begin = max(i - r, int64_t(0)), end = min(i + r + 1, n);  // of this window
  const int64_t past = min(first + kThreads + r, n);                      // of all windows of the block
  float sum = 0;
  for (int64_t piece = max(first - r, int64_t(0)); piece < past; piece += kTile) {
    __syncthreads();  // all have read the piece before
    for (int k = thread; k < kTile && piece + k < past; k += kThreads) tile[k] = x[piece + k];
    __syncthreads();
    const int to = int(min(end - piece, int64_t(kTile)));
    for (int k = int(min(max(begin - piece, int64_t(0)), int64_t(kTile))); k < to; ++k) sum += tile[k];
  }
  if (i < n) y[i] = sum;
}

void run(const WindowSum::Args<float>& x) {
  const auto [n, radius] = x.shape;
  if (n == 0) return;
  const int64_t r = radius < n ? radius : n;  // beyond n, a window holds everything
  cuda::launch(sums, unsigned((n + kThreads - 1) / kThreads), kThreads, 0, x.x, x.y, n, r);
}

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "01_global",
                         .tiles = {32, kThreads, kTile},
                         .expect = {.shape = {1 << 22, 100}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
