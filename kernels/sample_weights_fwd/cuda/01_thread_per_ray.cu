// sample_weights_fwd.cuda.01_thread_per_ray: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   lanes read samples a ray apart, and wait for the longest ray.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) weigh(SampleWeightsFwd::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  float depth = 0, before = 1;
  for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
    depth += expf(x.density_raw[i]) * x.delta[i];
    const float after = expf(-depth);
    x.weights[i] = before - after;
    before = after;
  }
}

void run(const SampleWeightsFwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(weigh, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(SampleWeightsFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
