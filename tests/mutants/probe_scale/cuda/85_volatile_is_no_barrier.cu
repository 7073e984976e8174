// probe_scale.cuda.85_volatile_is_no_barrier: the same, with volatile in place of __syncwarp.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  __shared__ float kept[64];
  volatile float* const seen = kept;
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  seen[threadIdx.x] = i < n ? x[i] : 0;       // FINDING race on shared memory
  const float other = seen[threadIdx.x ^ 1];  // FINDING race on shared memory
  if ((i ^ 1) < n) y[i ^ 1] += *factor * other;
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
