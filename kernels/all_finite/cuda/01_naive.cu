// all_finite.cuda.01_naive: one thread per entry.
//
// CHANGE   the loop over entries spread over threads; who is not finite takes an atomic minimum.
// EXPECT   coalesced; no atomic where all is well.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/all_finite/all_finite.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) find(AllFinite::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < x.shape.n && !(fabsf(x.p[i]) <= 3.402823466e+38F)) atomicMin(x.first, int(i));
}

void run(const AllFinite::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(find, dim3(unsigned((x.shape.n + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(AllFinite, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
