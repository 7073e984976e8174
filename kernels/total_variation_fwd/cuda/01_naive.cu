// total_variation_fwd.cuda.01_naive: one thread per point.
//
// CHANGE   the loop over points spread over threads.
// EXPECT   coalesced; the launch takes longer than the kernel.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/total_variation_fwd/total_variation_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) variation(TotalVariationFwd::Args<float> x) {
  const int64_t p = int64_t(blockIdx.x) * kThreads + threadIdx.x, n = x.shape.points;
  if (p >= n) return;
  float sum = 0;
  for (int64_t m = 1; m < 4; ++m) {
    const float difference = x.raw[m * n + p] - x.raw[p];
    sum += difference * difference;
  }
  x.loss[p] = sum;
}

void run(const TotalVariationFwd::Args<float>& x) {
  if (x.shape.points == 0) return;
  cuda::launch(variation, dim3(unsigned((x.shape.points + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(TotalVariationFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
