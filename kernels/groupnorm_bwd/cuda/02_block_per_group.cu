// groupnorm_bwd.cuda.02_block_per_group: 256 threads share a group, then a channel.
//
// CHANGE    a block has a group of an example and writes its d_x; then a block has a channel of all examples and sums d_gamma
//           and d_beta. Threads go along the positions and agree by shuffles and sixteen numbers in shared memory.
// EXPECT    neighbors read neighbors: 4 to 5 sectors/request in place of 32.
// NUMERICS  256 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/common/rows/02_block_per_channel-inl.h"

__global__ void __launch_bounds__(kThreads) inputs(GroupnormBwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t i = blockIdx.x;
  const auto each = unsigned(a.shape.each), hw = unsigned(a.shape.hw), N = each * hw;
  const float *set = a.x + i * N, *d_y = a.d_y + i * N, *gamma = a.gamma + i % a.shape.groups * each;
  const float mean = a.mean[i], rstd = a.rstd[i];
  float sum = 0, product = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const float g = d_y[k] * gamma[k / hw];
    sum += g;
    product += g * ((set[k] - mean) * rstd);
  }
  sum_both(sum, product, part);
  sum /= float(N);
  product /= float(N);
  for (unsigned k = threadIdx.x; k < N; k += kThreads)
    a.d_x[i * N + k] = rstd * (d_y[k] * gamma[k / hw] - sum - (set[k] - mean) * rstd * product);
}

__global__ void __launch_bounds__(kThreads) parameters(GroupnormBwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t j = blockIdx.x, groups = a.shape.groups, c = groups * a.shape.each, group = j / a.shape.each;
  const auto hw = unsigned(a.shape.hw), N = unsigned(a.shape.n) * hw;
  float gamma = 0, beta = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const int64_t i = k / hw, p = (i * c + j) * hw + k % hw, of = i * groups + group;
    gamma += a.d_y[p] * ((a.x[p] - a.mean[of]) * a.rstd[of]);
    beta += a.d_y[p];
  }
  sum_both(gamma, beta, part);
  if (threadIdx.x == 0) a.d_gamma[j] = gamma, a.d_beta[j] = beta;
}

void run(const GroupnormBwd::Args<float>& x) {
  const int64_t sets = x.shape.n * x.shape.groups, c = x.shape.groups * x.shape.each;
  if (sets > 0) cuda::launch(inputs, unsigned(sets), kThreads, 0, x);
  if (c > 0) cuda::launch(parameters, unsigned(c), kThreads, 0, x);
}

KLAB_VARIANT(GroupnormBwd, {.run = run,
                            .parent = "01_thread_per_group",
                            .forward = "02_block_per_group",
                            .tiles = {kThreads},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 10}});

}  // namespace
}  // namespace klab
