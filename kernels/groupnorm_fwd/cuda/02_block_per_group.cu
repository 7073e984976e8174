// groupnorm_fwd.cuda.02_block_per_group: 256 threads share a group.
//
// CHANGE    a block has a group of an example; its threads go along it, and agree on the sum and on the squares by shuffles
//           and eight numbers in shared memory.
// EXPECT    neighbors read neighbors: 4 to 5 sectors/request in place of 32.
// NUMERICS  two passes; 256 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

/// Returns the sum over all threads, in each of them. `part` is shared, and a different array at each call:
/// otherwise the second call would overwrite values that the first still reads.
__device__ __forceinline__ float sum_of(float v, float (&part)[kWarps]) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[w];
  return sum;
}

__global__ void __launch_bounds__(kThreads) normalize(GroupnormFwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t i = blockIdx.x;
  const auto each = unsigned(a.shape.each), hw = unsigned(a.shape.hw), N = each * hw;
  const float *set = a.x + i * N, *gamma = a.gamma + i % a.shape.groups * each;
  const float* beta = a.beta + i % a.shape.groups * each;
  float sum = 0, squares = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) sum += set[k];
  const float mean = sum_of(sum, part[0]) / float(N);
  for (unsigned k = threadIdx.x; k < N; k += kThreads) squares += (set[k] - mean) * (set[k] - mean);
  const float rstd = 1 / sqrtf(sum_of(squares, part[1]) / float(N) + *a.epsilon);
  for (unsigned k = threadIdx.x; k < N; k += kThreads)
    a.y[i * N + k] = gamma[k / hw] * ((set[k] - mean) * rstd) + beta[k / hw];
  if (threadIdx.x == 0) a.mean[i] = mean, a.rstd[i] = rstd;
}

void run(const GroupnormFwd::Args<float>& x) {
  const int64_t sets = x.shape.n * x.shape.groups;
  if (sets > 0) cuda::launch(normalize, unsigned(sets), kThreads, 0, x);
}

KLAB_VARIANT(GroupnormFwd, {.run = run,
                            .parent = "01_thread_per_group",
                            .tiles = {kThreads},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 10}});

}  // namespace
}  // namespace klab
