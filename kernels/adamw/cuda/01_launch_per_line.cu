// adamw.cuda.01_launch_per_line: a launch for each line of the formula and tensor.
//
// CHANGE    as a library of tensor operations would run it, one thread per entry: 3 launches for each tensor.
// EXPECT    coalesced, but arrays go through memory once a line, and a network of many small tensors waits
//           for launches.
// NUMERICS  float; values that depend on the tensor alone in double, by one thread of a block.
#include "harness/core/registrar.h"
#include "kernels/common/optimizer/device.h"
#include "reference/adamw/adamw.h"

namespace klab {
namespace {

__global__ void __launch_bounds__(kOptimizerThreads)
    update_m(OptimizerStep x, int64_t t, const float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<Optimizer::adamw>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1)) x.m[i] = optimizer_numbers::rule_m<Optimizer::adamw>(0, k, g[i], x.m[i]);
}

__global__ void __launch_bounds__(kOptimizerThreads)
    update_v(OptimizerStep x, int64_t t, const float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<Optimizer::adamw>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1)) x.v[i] = optimizer_numbers::rule_v<Optimizer::adamw>(0, k, g[i], x.v[i]);
}

__global__ void __launch_bounds__(kOptimizerThreads)
    update_param(OptimizerStep x, int64_t t, const float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<Optimizer::adamw>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1))
    x.param[i] = optimizer_numbers::rule_param<Optimizer::adamw>(0, k, g[i], x.param[i], x.m[i], x.v[i]);
}

void run(const Adamw::Args<float>& x) {
  const OptimizerStep step = optimizer_step(x);
  each_tensor(step, [&](int64_t t, dim3 blocks) {
    cuda::launch(update_m, blocks, dim3(kOptimizerThreads), 0, step, t, x.gradient);
    cuda::launch(update_v, blocks, dim3(kOptimizerThreads), 0, step, t, x.gradient);
    cuda::launch(update_param, blocks, dim3(kOptimizerThreads), 0, step, t, x.gradient);
  });
  optimizer_count_steps(step);
}

KLAB_VARIANT(Adamw, {.run = run, .tiles = {kOptimizerThreads}});

}  // namespace
}  // namespace klab
