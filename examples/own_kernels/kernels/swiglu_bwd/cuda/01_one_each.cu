// swiglu_bwd.cuda.01_one_each: one thread per element.
//
// CHANGE    the naive kernel: as many threads as elements.
// EXPECT    neighboring lanes touch neighboring floats: 4 whole sectors/request.
// NUMERICS  float.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/swiglu_bwd/swiglu_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    swiglu_gradients(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ d_y,
                     float* __restrict__ d_a, float* __restrict__ d_b, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float s = 1 / (1 + expf(-a[i])), rest = 1 / (1 + expf(a[i]));
  d_a[i] = d_y[i] * b[i] * s * (1 + a[i] * rest);
  d_b[i] = d_y[i] * a[i] * s;
}

void run(const SwigluBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const auto blocks = unsigned((n + kThreads - 1) / kThreads);
  cuda::launch(swiglu_gradients, blocks, kThreads, 0, x.a, x.b, x.d_y, x.d_a, x.d_b, n);
}

KLAB_VARIANT(SwigluBwd, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
