// sample_weights_bwd.cuda.01_thread_per_ray: one thread per ray, there and back.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   lanes read samples a ray apart, twice.
// NUMERICS float; the running sum in double, so that it can be walked back.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) weigh_back(SampleWeightsBwd::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  double depth = 0;
  for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i)
    depth += double(expf(x.density_raw[i]) * x.delta[i]);
  // From the back: the optical depth in front of a sample is that behind it less its own.
  float behind = 0, after = expf(-float(depth));
  for (int64_t i = x.ray_begin[r + 1]; i-- > x.ray_begin[r];) {
    const float raw = x.density_raw[i], slope = expf(fminf(fmaxf(raw, -15.0F), 15.0F)) * x.delta[i];
    depth -= double(expf(raw) * x.delta[i]);
    const float before = expf(-float(depth));
    x.d_density_raw[i] += slope * (after * x.d_weights[i] - behind);
    behind += (before - after) * x.d_weights[i];
    after = before;
  }
}

void run(const SampleWeightsBwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(weigh_back, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(SampleWeightsBwd, {.run = run, .forward = "01_thread_per_ray", .tiles = {kThreads}});

}  // namespace
}  // namespace klab
