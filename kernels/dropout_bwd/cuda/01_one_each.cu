// dropout_bwd.cuda.01_one_each: the generator runs again for every element.
//
// CHANGE    a thread for each element; ten rounds for four words, of which it uses one.
// EXPECT    some 80 instructions an element where 8 bytes move: arithmetic binds.
// NUMERICS  the reciprocal of 1 - p, a product.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "reference/dropout_bwd/dropout_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) drop(DropoutBwd::Args<float> a) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.shape.n) return;
  const PhiloxWords random = philox(uint64_t(i) / 4, a.seed, a.offset);
  const uint32_t own = i % 4 == 0   ? random.w[0]
                       : i % 4 == 1 ? random.w[1]
                       : i % 4 == 2 ? random.w[2]
                                    : random.w[3];
  a.d_x[i] = own >= dropout_threshold(*a.p) ? a.d_y[i] * (1 / (1 - *a.p)) : 0;
}

void run(const DropoutBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(drop, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(DropoutBwd, {.run = run, .forward = "01_one_each", .tiles = {32}});

}  // namespace
}  // namespace klab
