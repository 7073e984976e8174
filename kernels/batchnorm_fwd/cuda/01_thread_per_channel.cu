// batchnorm_fwd.cuda.01_thread_per_channel: a thread walks its whole channel, three times.
//
// CHANGE    the naive loops, a channel for each thread.
// EXPECT    64 channels are two warps on a whole device. Positions inside: neighbors in a warp read hw
//           numbers apart, so each lane needs its own sector, 32 sectors/request.
// NUMERICS  two passes; one float accumulator.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__global__ void __launch_bounds__(kThreads) normalize(BatchnormFwd::Args<float> a) {
  const int64_t n = a.shape.n, c = a.shape.c, hw = a.shape.hw;
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  const float N = float(n * hw);
  float sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < hw; ++k) sum += a.x[(i * c + j) * hw + k];
  const float mean = sum / N;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < hw; ++k) {
      const float d = a.x[(i * c + j) * hw + k] - mean;
      squares += d * d;
    }
  const float variance = squares / N, rstd = 1 / sqrtf(variance + *a.epsilon);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k)
      a.y[k] = a.gamma[j] * ((a.x[k] - mean) * rstd) + a.beta[j];
  a.mean[j] = mean;
  a.rstd[j] = rstd;
  const float unbiased = N > 1 ? N / (N - 1) : 1;
  a.running_mean[j] += *a.momentum * (mean - a.running_mean[j]);
  a.running_var[j] += *a.momentum * (unbiased * variance - a.running_var[j]);
}

void run(const BatchnormFwd::Args<float>& x) {
  if (x.shape.c == 0) return;
  cuda::launch(normalize, unsigned((x.shape.c + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormFwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
