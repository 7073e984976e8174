// probe_scale.cuda.88_votes_apart: lanes vote with a mask that not all of them reach.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  const int lane = threadIdx.x % 32;
  unsigned all = 0;
  if (i + 5 < n || lane > 8) all = __ballot_sync(0xffffffffu, i < n);  // FINDING inactive lane
  __syncwarp();
  if (i < n) y[i] += *factor * x[i] + 0 * float(all & 1);
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
