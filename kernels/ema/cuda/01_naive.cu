// ema.cuda.01_naive: one thread per entry.
//
// CHANGE   the loop over entries spread over threads.
// EXPECT   coalesced: four sectors/request, two requests in and one out a warp.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/ema/ema.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) average(Ema::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < x.shape.n) x.average[i] = *x.keep * x.average[i] + (1 - *x.keep) * x.now[i];
}

void run(const Ema::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(average, dim3(unsigned((x.shape.n + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(Ema, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
