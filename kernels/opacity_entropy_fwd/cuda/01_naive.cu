// opacity_entropy_fwd.cuda.01_naive: one thread per ray.
//
// CHANGE    the loop over rays spread over threads.
// EXPECT    a logarithm a ray; the launch takes longer than the kernel.
// NUMERICS  float.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    entropy(int64_t rays, float floor, const float* __restrict__ opacity, float* __restrict__ loss) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= rays) return;
  const float o = opacity[r] + floor;
  loss[r] = -o * logf(o);
}

void run(const OpacityEntropyFwd::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  if (rays == 0) return;
  cuda::launch(entropy, dim3(unsigned((rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, rays,
               float(OpacityEntropyFwd::floor), x.opacity, x.loss);
}

KLAB_VARIANT(OpacityEntropyFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
