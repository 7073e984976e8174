// probe_count.cuda.85_missing_fence: the last block reads the others' results without a fence before their
// tickets.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_count/probe_count.h"

namespace klab {
namespace {

__global__ void histogram(const float* x, int32_t* count, int32_t* parts, unsigned* done, int64_t n) {
  __shared__ int32_t bins[16];
  __shared__ bool last;
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  if (i < n) atomicAdd(&bins[int(x[i] * 16)], 1);
  __syncthreads();
  if (threadIdx.x < 16) parts[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last || threadIdx.x >= 16) return;
  int32_t sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b)
    sum += parts[b * 16 + threadIdx.x];  // FINDING race on global memory
  count[threadIdx.x] = sum;
}

void run(const ProbeCount::Args<float>& x) {
  cuda::fill_zero(x.count, 16 * sizeof(int32_t));
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const unsigned blocks = unsigned((n + 63) / 64);
  const cuda::Scratch parts(blocks * 16 * sizeof(int32_t)), done(sizeof(unsigned));
  cuda::fill_zero(done.as<unsigned>(), sizeof(unsigned));
  cuda::launch(histogram, blocks, 64, 0, x.x, x.count, parts.as<int32_t>(), done.as<unsigned>(), n);
}

KLAB_VARIANT(ProbeCount, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
