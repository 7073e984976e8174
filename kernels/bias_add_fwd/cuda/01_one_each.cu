// bias_add_fwd.cuda.01_one_each: a thread for each number.
//
// CHANGE    the naive form: a thread finds its channel by division.
// EXPECT    two integer divisions of 64 bits a number, some hundred instructions each.
// NUMERICS  one rounding.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) add(int64_t count, BiasAddFwd::Args<float> a) {
  const int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k < count) a.y[k] = a.x[k] + a.bias[k / a.shape.hw % a.shape.c];
}

void run(const BiasAddFwd::Args<float>& x) {
  const int64_t count = x.shape.n * x.shape.c * x.shape.hw;
  if (count == 0) return;
  cuda::launch(add, unsigned((count + kThreads - 1) / kThreads), kThreads, 0, count, x);
}

KLAB_VARIANT(BiasAddFwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
