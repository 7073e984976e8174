// visible_limit.cuda.01_thread_per_ray: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   neighboring lanes read samples of neighboring rays, a ray's length apart; lanes whose rays are
//          opaque wait for the longest.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/visible_limit/visible_limit.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) look(VisibleLimit::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  const float stop = *x.stop;
  float depth = x.optical_depth[r];
  const float* raw = x.raw + x.begin[r];
  const float* delta = x.delta + x.ray_begin[r] + x.shape.first;
  const int n = x.begin[r + 1] - x.begin[r];
  int i = 0;
  for (; i < n && depth <= stop; ++i) depth += expf(raw[i]) * delta[i];
  if (n > 0 && depth > stop) x.limit[r] = int(x.shape.first) + i;
  x.optical_depth[r] = depth;
}

void run(const VisibleLimit::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(look, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VisibleLimit, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
