// bias_add_bwd.cuda.01_thread_per_channel: a thread walks its whole channel.
//
// CHANGE    the naive loops, a channel for each thread.
// EXPECT    behind a matrix product (hw = 1) neighbors read neighbors, but there are no more threads than
//           channels. For images each lane also reads its own sector: 32 sectors/request.
// NUMERICS  one float accumulator.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__global__ void __launch_bounds__(kThreads) sum_up(BiasAddBwd::Args<float> a) {
  const int64_t c = a.shape.c, hw = a.shape.hw, j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  float sum = 0;
  for (int64_t i = 0; i < a.shape.n; ++i)
    for (int64_t k = (i * c + j) * hw; k < (i * c + j + 1) * hw; ++k) sum += a.d_y[k];
  a.d_bias[j] = sum;
}

void run(const BiasAddBwd::Args<float>& x) {
  if (x.shape.c == 0) return;
  cuda::launch(sum_up, unsigned((x.shape.c + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(BiasAddBwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
