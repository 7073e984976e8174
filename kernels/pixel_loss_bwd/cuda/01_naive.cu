// pixel_loss_bwd.cuda.01_naive: one thread per pixel.
//
// CHANGE    the loop over pixels spread over threads; the slope is a clamp, not a branch.
// EXPECT    coalesced, 40 bytes per pixel in ten requests: copy bandwidth when pixels are many; in a training step the
//           launch takes longer than the kernel.
// NUMERICS  one rounding an operation.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    gradient_of(int64_t n, int kind, float turn, const float* __restrict__ prediction,
                const float* __restrict__ target, const float* __restrict__ d_loss,
                float* __restrict__ d_prediction) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float third = d_loss[i] / 3;
  for (int c = 0; c < 3; ++c) {
    const float e = prediction[c * n + i] - target[c * n + i];
    d_prediction[c * n + i] = third * (kind == 0 ? 2 * e : fminf(fmaxf(e, -turn), turn));
  }
}

void run(const PixelLossBwd::Args<float>& x) {
  const auto [n, kind] = x.shape;
  if (n == 0) return;
  cuda::launch(gradient_of, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n, int(kind),
               PixelLossFwd::turn(kind), x.prediction, x.target, x.d_loss, x.d_prediction);
}

KLAB_VARIANT(PixelLossBwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
