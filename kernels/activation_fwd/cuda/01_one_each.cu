// activation_fwd.cuda.01_one_each: a thread for each element.
//
// CHANGE    the naive form; the function is chosen at run time, the same for all threads.
// EXPECT    4 bytes a lane and request; the functions' instructions, 20 to 60, for 8 bytes.
// NUMERICS  expf, tanhf, erff, log1pf: within 2 ulp each.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/activation_fwd/activation_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

#include "kernels/activation_fwd/cuda/01_one_each-inl.h"

__global__ void __launch_bounds__(kThreads) apply(ActivationFwd::Args<float> a) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < a.shape.n) a.y[i] = value(a.shape.kind, a.x[i]);
}

void run(const ActivationFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(apply, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(ActivationFwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
