// probe_scale.cuda.82_mask_without_caller: the mask names the lower half, and all lanes call.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  const float f = __shfl_sync(0x0000ffffu, *factor, 0);  // FINDING inactive lane
  if (i < n) y[i] += f * x[i];
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
