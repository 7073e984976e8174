// probe_scale.cuda.80_shuffle_in_branch: half of the warp shuffles with the whole.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  const int lane = threadIdx.x % 32;
  float f = lane == 0 ? *factor : 0;
  f = __shfl_sync(0xffffffffu, f, 0);
  if (lane < 16) f += __shfl_down_sync(0xffffffffu, f, 8) * 0;  // FINDING inactive lane
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
