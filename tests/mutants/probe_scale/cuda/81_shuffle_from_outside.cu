// probe_scale.cuda.81_shuffle_from_outside: lanes of the lower half ask for a value of the upper one, which their mask leaves out.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

__global__ void scale(const float* factor, const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * 64 + threadIdx.x;
  const int lane = threadIdx.x % 32;
  float f = *factor;
  if (lane < 16) f = __shfl_sync(0x0000ffffu, f, 20);  // FINDING inactive lane
  if (i < n) y[i] += (lane < 16 ? *factor : f) * x[i];
}

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(scale, unsigned((n + 63) / 64), 64, 0, x.factor, x.x, x.y, n);
}

KLAB_VARIANT(ProbeScale, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
