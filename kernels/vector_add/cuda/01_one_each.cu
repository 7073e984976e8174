// vector_add.cuda.01_one_each: one thread per element.
//
// CHANGE    the naive kernel: as many threads as elements, each adds one pair.
// EXPECT    neighboring lanes touch neighboring floats, so a warp's request is 4 whole sectors of 32 bytes and
//           nothing is wasted: close to the copy bandwidth for large n, the launch itself for small n.
// NUMERICS  one correctly rounded float addition an element.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const auto blocks = unsigned((n + kThreads - 1) / kThreads);
  cuda::launch(add, blocks, kThreads, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
