// probe_scale.cuda.84_missing_syncwarp: lanes exchange through shared memory as if they ran in step.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  __shared__ float kept[64];
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  kept[threadIdx.x] = i < n ? x[i] : 0;       // FINDING race on shared memory
  const float other = kept[threadIdx.x ^ 1];  // FINDING race on shared memory
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
