// groupnorm_fwd.cuda.01_thread_per_group: a thread walks its whole group, three times.
//
// CHANGE    the naive loops, a group of an example for each thread.
// EXPECT    neighbors in a warp read each·hw numbers apart: 32 sectors/request.
// NUMERICS  two passes; one float accumulator.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__global__ void __launch_bounds__(kThreads) normalize(GroupnormFwd::Args<float> a) {
  const int64_t groups = a.shape.groups, each = a.shape.each, hw = a.shape.hw, N = each * hw;
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.shape.n * groups) return;
  const float* set = a.x + i * N;
  float sum = 0, squares = 0;
  for (int64_t k = 0; k < N; ++k) sum += set[k];
  const float mean = sum / float(N);
  for (int64_t k = 0; k < N; ++k) squares += (set[k] - mean) * (set[k] - mean);
  const float rstd = 1 / sqrtf(squares / float(N) + *a.epsilon);
  for (int64_t e = 0; e < each; ++e) {
    const float gamma = a.gamma[i % groups * each + e], beta = a.beta[i % groups * each + e];
    for (int64_t k = e * hw; k < (e + 1) * hw; ++k) a.y[i * N + k] = gamma * ((set[k] - mean) * rstd) + beta;
  }
  a.mean[i] = mean;
  a.rstd[i] = rstd;
}

void run(const GroupnormFwd::Args<float>& x) {
  const int64_t sets = x.shape.n * x.shape.groups;
  if (sets == 0) return;
  cuda::launch(normalize, unsigned((sets + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GroupnormFwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
