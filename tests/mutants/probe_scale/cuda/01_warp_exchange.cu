// probe_scale.cuda.01_warp_exchange: right: the same exchange behind __syncwarp, and a flag to which all write the same.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  __shared__ float kept[64];
  __shared__ int any;
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  kept[threadIdx.x] = i < n ? x[i] : 0;
  __syncwarp();
  const float other = kept[threadIdx.x ^ 1];
  any = 1;  // of all threads the same value: no harm
  __syncthreads();
  if (any != 0 && (i ^ 1) < n) y[i ^ 1] += *factor * other;
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
