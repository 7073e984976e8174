// probe_scale.cuda.83_shuffle_after_return: threads behind the end have left; their neighbors ask for their values.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  const int lane = threadIdx.x % 32;
  if (i >= n) return;
  const float ahead = __shfl_down_sync(0xffffffffu, x[i], 1);  // FINDING inactive lane
  y[i] += *factor * x[i] + 0 * (lane < 31 && i + 1 < n ? ahead : 0);
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
