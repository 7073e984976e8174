// total_variation_bwd.cuda.01_naive: one thread per point.
//
// CHANGE   the loop over points spread over threads.
// EXPECT   coalesced; the launch takes longer than the kernel.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) variation(TotalVariationBwd::Args<float> x) {
  const int64_t p = int64_t(blockIdx.x) * kThreads + threadIdx.x, n = x.shape.points;
  if (p >= n) return;
  float sum = 0;
  for (int64_t m = 1; m < 4; ++m) {
    const float difference = 2 * x.d_loss[p] * (x.raw[m * n + p] - x.raw[p]);
    x.d_raw[m * n + p] = difference;
    sum += difference;
  }
  x.d_raw[p] = -sum;
}

void run(const TotalVariationBwd::Args<float>& x) {
  if (x.shape.points == 0) return;
  cuda::launch(variation, dim3(unsigned((x.shape.points + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(TotalVariationBwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
