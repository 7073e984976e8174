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

__device__ __forceinline__ float logistic(float x) { return 1 / (1 + expf(-x)); }

__device__ __forceinline__ float slope(int64_t kind, float x) {
  switch (kind) {
    case activation::relu:
      return x > 0 ? 1 : 0;
    case activation::sigmoid: {
      const float s = logistic(x);
      return s * (1 - s);
    }
    case activation::tanh: {
      const float t = tanhf(x);
      return 1 - t * t;
    }
    case activation::gelu:
      return 0.5F * (1 + erff(x * 0.70710678F)) + x * expf(-0.5F * x * x) * 0.39894228F;
    case activation::swish: {
      const float s = logistic(x);
      return s * (1 + x * (1 - s));
    }
    default:
      return logistic(x);
  }
}

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
