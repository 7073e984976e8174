// opacity_entropy_bwd.cuda.01_naive: one thread per ray.
//
// CHANGE    the loop over rays spread over threads.
// EXPECT    a logarithm a ray; the launch takes longer than the kernel.
// NUMERICS  float.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    gradient_of(int64_t rays, float floor, const float* __restrict__ opacity,
                const float* __restrict__ d_loss, float* __restrict__ d_opacity) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rays) return;
  d_opacity[r] = -d_loss[r] * (logf(opacity[r] + floor) + 1);
}

void run(const OpacityEntropyBwd::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  if (rays == 0) return;
  cuda::launch(gradient_of, dim3(unsigned((rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, rays,
               float(OpacityEntropyFwd::floor), x.opacity, x.d_loss, x.d_opacity);
}

KLAB_VARIANT(OpacityEntropyBwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
