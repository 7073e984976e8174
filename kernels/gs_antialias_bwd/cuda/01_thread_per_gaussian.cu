// gs_antialias_bwd.cuda.01_thread_per_gaussian: one thread per Gaussian.
//
// CHANGE    the naive loop, spread over threads.
// EXPECT    coalesced loads and stores: bandwidth.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr float kBlur = GsAntialiasFwd::blur, kLeast = GsAntialiasFwd::least;

__global__ void __launch_bounds__(kThreads) each(GsAntialiasBwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float along = 1 - kBlur * x.conic[i], across = 1 - kBlur * x.conic[2 * n + i];
  const float slant = kBlur * x.conic[n + i], q = along * across - slant * slant;
  const float factor = sqrtf(fmaxf(q, kLeast));
  x.d_opacity[i] = x.d_shown[i] * factor;
  const float g = q > kLeast ? x.d_shown[i] * x.opacity[i] / (2 * factor) : 0;
  x.d_conic[i] -= kBlur * across * g;
  x.d_conic[n + i] -= 2 * kBlur * slant * g;
  x.d_conic[2 * n + i] -= kBlur * along * g;
}

void run(const GsAntialiasBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GsAntialiasBwd, {.run = run, .forward = "01_thread_per_gaussian", .tiles = {kThreads}});

}  // namespace
}  // namespace klab
