// sgd.cuda.02_fused_step: everything about an entry while it is in registers.
//
// CHANGE    one launch per tensor in place of 2: each array is read once and written once.
// EXPECT    12 bytes per entry, the compulsory ones: near the bandwidth for large tensors; small ones still cost a launch each.
// NUMERICS  as the parent: the same operations.
#include "harness/core/registrar.h"
#include "kernels/common/optimizer/device.h"
#include "reference/sgd/sgd.h"

namespace klab {
namespace {

__global__ void __launch_bounds__(kOptimizerThreads) update(OptimizerStep x, int64_t t) {
  const OptimizerCoefficients k = block_coefficients<Optimizer::sgd>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i >= x.begin(t + 1)) return;
  float none = 0;
  optimizer_entry<Optimizer::sgd>(k, x.gradient[i], x.param[i], none, none);
}

void run(const Sgd::Args<float>& x) {
  const OptimizerStep step = optimizer_step(x);
  each_tensor(step, [&](int64_t t, dim3 blocks) {
    cuda::launch(update, blocks, dim3(kOptimizerThreads), 0, step, t);
  });
  optimizer_count_steps(step);
}

KLAB_VARIANT(Sgd, {.run = run,
                   .parent = "01_launch_per_line",
                   .tiles = {kOptimizerThreads},
                   .expect = {.shape = {1 << 23, 64}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
