// probe_scale.cuda.89_barriers_apart: two branches, each with its own barrier.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32)
    __syncthreads();  // FINDING barrier divergence
  else
    __syncthreads();  // or here
  if (i < n) y[i] += *factor * x[i] + 0 * float(lane);
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
