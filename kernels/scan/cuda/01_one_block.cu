// scan.cuda.01_one_block: a block scans, 1,024 elements at a time.
//
// CHANGE    five shuffles give sums within each warp, five more those of the warps; the block walks over all elements.
// EXPECT    one multiprocessor of 132, which has 4 KB in flight and three barriers a round: some 1.2 us for 1,024 elements.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "reference/scan/scan.h"

namespace klab {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32;

__global__ void __launch_bounds__(kThreads) scan(const uint32_t* x, uint32_t* y, int64_t n) {
  __shared__ unsigned sums[kWarps];
  const auto add = [](unsigned a, unsigned b) { return a + b; };
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  unsigned before = 0;
  for (int64_t base = 0; base < n; base += kThreads) {
    const int64_t i = base + thread;
    const unsigned own = i < n ? x[i] : 0, up_to = cuda::scan_warp(own, add);
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    if (warp == 0) sums[lane] = cuda::scan_warp(sums[lane], add);
    __syncthreads();
    if (i < n) y[i] = before + (warp > 0 ? sums[warp - 1] : 0) + up_to - own;
    before += sums[kWarps - 1];
    __syncthreads();  // sums are read until here
  }
}

void run(const Scan::Args<float>& x) {
  if (x.shape.n > 0) cuda::launch(scan, 1U, kThreads, 0, x.x, x.y, x.shape.n);
}

KLAB_VARIANT(Scan, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
