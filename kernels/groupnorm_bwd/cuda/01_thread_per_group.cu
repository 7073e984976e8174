// groupnorm_bwd.cuda.01_thread_per_group: a thread walks its group; another its channel.
//
// CHANGE    the naive loops, a group of an example for each thread that makes d_x; then a channel for each that makes
//           d_gamma and d_beta.
// EXPECT    neighbors in a warp read far apart: 32 sectors/request, three times over.
// NUMERICS  one float accumulator a sum.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__global__ void __launch_bounds__(kThreads) inputs(GroupnormBwd::Args<float> a) {
  const int64_t groups = a.shape.groups, each = a.shape.each, hw = a.shape.hw, N = each * hw;
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.shape.n * groups) return;
  const float *set = a.x + i * N, *d_y = a.d_y + i * N, *gamma = a.gamma + i % groups * each;
  const float mean = a.mean[i], rstd = a.rstd[i];
  float sum = 0, product = 0;
  for (int64_t k = 0; k < N; ++k) {
    const float g = d_y[k] * gamma[k / hw];
    sum += g;
    product += g * ((set[k] - mean) * rstd);
  }
  sum /= float(N);
  product /= float(N);
  for (int64_t k = 0; k < N; ++k)
    a.d_x[i * N + k] = rstd * (d_y[k] * gamma[k / hw] - sum - (set[k] - mean) * rstd * product);
}

__global__ void __launch_bounds__(kThreads) parameters(GroupnormBwd::Args<float> a) {
  const int64_t groups = a.shape.groups, each = a.shape.each, hw = a.shape.hw, c = groups * each;
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  float gamma = 0, beta = 0;
  for (int64_t i = 0; i < a.shape.n; ++i) {
    const float mean = a.mean[i * groups + j / each], rstd = a.rstd[i * groups + j / each];
    for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k) {
      gamma += a.d_y[k] * ((a.x[k] - mean) * rstd);
      beta += a.d_y[k];
    }
  }
  a.d_gamma[j] = gamma;
  a.d_beta[j] = beta;
}

void run(const GroupnormBwd::Args<float>& x) {
  const int64_t sets = x.shape.n * x.shape.groups, c = x.shape.groups * x.shape.each;
  if (sets > 0) cuda::launch(inputs, unsigned((sets + kThreads - 1) / kThreads), kThreads, 0, x);
  if (c > 0) cuda::launch(parameters, unsigned((c + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GroupnormBwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
