// allreduce_gradients.cuda.01_everybody: a thread for every entry of every replica.
//
// CHANGE   each rank's threads read the gradients of all ranks, as GPUs that see each other's memory can.
// EXPECT   coalesced, four sectors/request; but every gradient is read by every rank.
// NUMERICS float, in the order of the ranks.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) everybody(AllreduceGradients::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, n = x.shape.n;
  if (i >= n) return;
  float sum = 0;
  for (int64_t q = 0; q < x.shape.ranks; ++q) sum += x.gradient[q * n + i];
  x.param[blockIdx.y * n + i] -= *x.rate / float(x.shape.ranks) * sum;
}

void run(const AllreduceGradients::Args<float>& x) {
  if (x.shape.n == 0) return;
  const dim3 grid(unsigned((x.shape.n + kThreads - 1) / kThreads), unsigned(x.shape.ranks));
  cuda::launch(everybody, grid, dim3(kThreads), 0, x);
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
