// probe_count.cuda.82_shared_not_cleared: counts in shared memory that was not cleared.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_count/probe_count.h"

namespace klab {
namespace {

__global__ void histogram(const float* x, int32_t* count, int64_t n) {
  __shared__ int32_t bins[16];
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  if (i < n) atomicAdd(&bins[int(x[i] * 16)], 1);  // FINDING uninitialized memory
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&count[threadIdx.x], bins[threadIdx.x]);  // FINDING uninitialized memory
}

void run(const ProbeCount::Args<float>& x) {
  cuda::fill_zero(x.count, 16 * sizeof(int32_t));
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(histogram, unsigned((n + 63) / 64), 64, 0, x.x, x.count, n);
}

KLAB_VARIANT(ProbeCount, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
