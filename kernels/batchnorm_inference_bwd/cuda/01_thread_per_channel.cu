// batchnorm_inference_bwd.cuda.01_thread_per_channel: a thread walks its whole channel.
//
// CHANGE    the naive loop, a channel for each thread.
// EXPECT    as of batchnorm_bwd.cuda.01_thread_per_channel: few threads, and 32 sectors/request; but one walk, not two.
// NUMERICS  one float accumulator a sum.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__global__ void __launch_bounds__(kThreads) gradients(BatchnormInferenceBwd::Args<float> a) {
  const int64_t n = a.shape.n, c = a.shape.c, hw = a.shape.hw;
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  const float mean = a.running_mean[j], rstd = 1 / sqrtf(a.running_var[j] + *a.epsilon),
              scale = a.gamma[j] * rstd;
  float sum = 0, product = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k) {
      const float d_y = a.d_y[k];
      sum += d_y;
      product += d_y * ((a.x[k] - mean) * rstd);
      a.d_x[k] = scale * d_y;
    }
  a.d_beta[j] = sum;
  a.d_gamma[j] = product;
}

void run(const BatchnormInferenceBwd::Args<float>& x) {
  if (x.shape.c == 0) return;
  cuda::launch(gradients, unsigned((x.shape.c + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormInferenceBwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
