// pixel_loss_fwd.cuda.01_naive: one thread per pixel.
//
// CHANGE    the loop over pixels spread over threads; lanes choose between parabola and line without a branch.
// EXPECT    coalesced, 28 bytes per pixel in seven requests: read bandwidth when pixels are many. A training step has
//           thousands, and then the launch takes longer than the kernel.
// NUMERICS  float; with s = min(|e|, d) both cases are s·(|e| - s/2).
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    loss_of(int64_t n, int kind, float turn, const float* __restrict__ prediction,
            const float* __restrict__ target, float* __restrict__ loss) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int c = 0; c < 3; ++c) {
    const float e = fabsf(prediction[c * n + i] - target[c * n + i]);
    const float s = fminf(e, turn);
    sum += kind == 0 ? e * e : s * (e - 0.5F * s);
  }
  loss[i] = sum * (1.0F / 3);
}

void run(const PixelLossFwd::Args<float>& x) {
  const auto [n, kind] = x.shape;
  if (n == 0) return;
  cuda::launch(loss_of, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n, int(kind),
               PixelLossFwd::turn(kind), x.prediction, x.target, x.loss);
}

KLAB_VARIANT(PixelLossFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
