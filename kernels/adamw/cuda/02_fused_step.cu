// adamw.cuda.02_fused_step: everything about an entry while it is in registers.
//
// CHANGE    one launch per tensor in place of 3: each array is read once and written once.
// EXPECT    28 bytes per entry, the compulsory ones: near the bandwidth for large tensors; small ones still cost a launch each.
// NUMERICS  as the parent: the same operations.
#include "harness/core/registrar.h"
#include "kernels/common/optimizer/device.h"
#include "reference/adamw/adamw.h"

namespace klab {
namespace {

__global__ void __launch_bounds__(kOptimizerThreads) update(OptimizerStep x, int64_t t) {
  const OptimizerCoefficients k = block_coefficients<Optimizer::adamw>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i >= x.begin(t + 1)) return;
  optimizer_entry<Optimizer::adamw>(k, x.gradient[i], x.param[i], x.m[i], x.v[i]);
}

void run(const Adamw::Args<float>& x) {
  const OptimizerStep step = optimizer_step(x);
  each_tensor(step, [&](int64_t t, dim3 blocks) {
    cuda::launch(update, blocks, dim3(kOptimizerThreads), 0, step, t);
  });
  optimizer_count_steps(step);
}

KLAB_VARIANT(Adamw, {.run = run,
                     .parent = "01_launch_per_line",
                     .tiles = {kOptimizerThreads},
                     .expect = {.shape = {1 << 23, 64}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
