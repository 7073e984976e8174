// swiglu_fwd.cuda.01_one_each: one thread per element.
//
// CHANGE    the naive kernel: as many threads as elements.
// EXPECT    neighboring lanes touch neighboring floats: 4 whole sectors/request.
// NUMERICS  float.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/swiglu_fwd/swiglu_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    swiglu(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) y[i] = a[i] / (1 + expf(-a[i])) * b[i];
}

void run(const SwigluFwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const auto blocks = unsigned((n + kThreads - 1) / kThreads);
  cuda::launch(swiglu, blocks, kThreads, 0, x.a, x.b, x.y, n);
}

KLAB_VARIANT(SwigluFwd, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
