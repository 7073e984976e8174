// batchnorm_bwd.cuda.01_thread_per_channel: a thread walks its whole channel, twice.
//
// CHANGE    the naive loops, a channel for each thread.
// EXPECT    as of batchnorm_fwd.cuda.01_thread_per_channel: few threads, and 32 sectors/request.
// NUMERICS  one float accumulator a sum.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__global__ void __launch_bounds__(kThreads) gradients(BatchnormBwd::Args<float> a) {
  const int64_t n = a.shape.n, c = a.shape.c, hw = a.shape.hw;
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  const float mean = a.mean[j], rstd = a.rstd[j];
  float sum = 0, product = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k) {
      sum += a.d_y[k];
      product += a.d_y[k] * ((a.x[k] - mean) * rstd);
    }
  a.d_beta[j] = sum;
  a.d_gamma[j] = product;
  const float N = float(n * hw), scale = a.gamma[j] * rstd;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k)
      a.d_x[k] = scale * (a.d_y[k] - sum / N - (a.x[k] - mean) * rstd * (product / N));
}

void run(const BatchnormBwd::Args<float>& x) {
  if (x.shape.c == 0) return;
  cuda::launch(gradients, unsigned((x.shape.c + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormBwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
