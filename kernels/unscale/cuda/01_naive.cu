// unscale.cuda.01_naive: one thread per entry.
//
// CHANGE   the loop over entries spread over threads.
// EXPECT   coalesced: four sectors/request.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/unscale/unscale.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) unscale(Unscale::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < x.shape.n) x.gradient[i] = *x.first == 0x7FFFFFFF ? x.gradient[i] * (1 / *x.scale) : 0;
}

void run(const Unscale::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(unscale, dim3(unsigned((x.shape.n + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(Unscale, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
