// probe_scale.cuda.86_syncwarp_is_no_syncthreads: two warps exchange through shared memory behind a barrier of one.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  __shared__ float kept[64];
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  kept[threadIdx.x] = i < n ? x[i] : 0;  // FINDING race on shared memory
  __syncwarp();
  const float other = kept[threadIdx.x ^ 32];  // FINDING race on shared memory
  if ((i ^ 32) < n) y[i ^ 32] += *factor * other;
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
