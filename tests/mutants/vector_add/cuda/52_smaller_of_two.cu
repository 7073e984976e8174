// vector_add.cuda.52_smaller_of_two: stops at the largest float by fminf, which prefers a number to NaN.
// Class: not finite. Must be caught as Fault::wrong_value.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = fminf(a[i] + b[i], 3.402823466e38F);
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(add, unsigned((n + 255) / 256), 256, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run});

}  // namespace
}  // namespace klab
