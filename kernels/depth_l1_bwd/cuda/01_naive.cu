// depth_l1_bwd.cuda.01_naive: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   coalesced; the launch takes longer than the kernel.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/depth_l1_bwd/depth_l1_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) depth_l1(DepthL1Bwd::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  const float d = x.depth[r], truth = x.truth[r], d_loss = x.d_loss[r];
  const float slope = d > truth ? d_loss : d < truth ? -d_loss : 0.0F;
  x.d_depth[r] = truth > 0 ? slope : 0.0F;
}

void run(const DepthL1Bwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(depth_l1, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(DepthL1Bwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
