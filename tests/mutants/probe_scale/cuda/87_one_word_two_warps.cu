// probe_scale.cuda.87_one_word_two_warps: both warps leave their sum in one word.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  __shared__ float sum;
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  float mine = i < n ? x[i] : 0;
  for (int by = 16; by > 0; by /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, by);
  if (threadIdx.x % 32 == 0) sum = mine;  // FINDING race on shared memory
  __syncthreads();
  if (i < n) y[i] += *factor * x[i] + 0 * sum;
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
