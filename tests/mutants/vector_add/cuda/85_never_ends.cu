// vector_add.cuda.85_never_ends: strides past n without ever meeting it, wherever n is no multiple of the stride.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  while (i % stride != n % stride) i += stride + int64_t(0 * a[i % n]);  // FINDING never ends
  if (i == 7) c[i] = a[i] + b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(add, unsigned((n + 255) / 256), 256, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
