// vector_add.cuda.88_too_much_shared: asks for more dynamic shared memory than a block gets without opting in.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  KLAB_DYNAMIC_SHARED(float, kept);
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  kept[threadIdx.x] = a[i];
  c[i] = kept[threadIdx.x] + b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(add, unsigned((n + 255) / 256), 256, 64 << 10, x.a, x.b, x.c,
               n);  // ERROR cudaErrorInvalidValue
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
