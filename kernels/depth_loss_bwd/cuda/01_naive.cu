// depth_loss_bwd.cuda.01_naive: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   coalesced; the launch takes longer than the kernel.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) depth_loss(DepthLossBwd::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  const float error = x.depth[r] - x.truth[r];
  x.d_depth[r] = x.truth[r] > 0 ? x.d_loss[r] * error : 0.0F;
}

void run(const DepthLossBwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(depth_loss, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(DepthLossBwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
