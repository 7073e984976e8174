// depth_l1_fwd.cuda.01_naive: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   coalesced; the launch takes longer than the kernel.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) depth_l1(DepthL1Fwd::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  x.loss[r] = x.truth[r] > 0 ? fabsf(x.depth[r] - x.truth[r]) : 0.0F;
}

void run(const DepthL1Fwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(depth_l1, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(DepthL1Fwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
