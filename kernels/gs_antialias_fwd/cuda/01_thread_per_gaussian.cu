// gs_antialias_fwd.cuda.01_thread_per_gaussian: one thread per Gaussian.
//
// CHANGE    the naive loop, spread over threads.
// EXPECT    coalesced loads and one store: bandwidth.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr float kBlur = GsAntialiasFwd::blur, kLeast = GsAntialiasFwd::least;

__global__ void __launch_bounds__(kThreads) each(GsAntialiasFwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float along = 1 - kBlur * x.conic[i], across = 1 - kBlur * x.conic[2 * n + i];
  const float slant = kBlur * x.conic[n + i];
  x.shown[i] = x.opacity[i] * sqrtf(fmaxf(along * across - slant * slant, kLeast));
}

void run(const GsAntialiasFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GsAntialiasFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
