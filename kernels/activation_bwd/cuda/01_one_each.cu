// activation_bwd.cuda.01_one_each: a thread for each element.
//
// CHANGE    the naive form; the function is chosen at run time, the same for all threads.
// EXPECT    4 bytes a lane and request; the functions' instructions, 20 to 80, for 12 bytes.
// NUMERICS  expf, tanhf, erff: within 2 ulp each.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/activation_bwd/activation_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

#include "kernels/activation_bwd/cuda/01_one_each-inl.h"

__global__ void __launch_bounds__(kThreads) apply(ActivationBwd::Args<float> a) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < a.shape.n) a.d_x[i] = a.d_y[i] * slope(a.shape.kind, a.x[i]);
}

void run(const ActivationBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(apply, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(ActivationBwd, {.run = run, .forward = "01_one_each", .tiles = {32}});

}  // namespace
}  // namespace klab
