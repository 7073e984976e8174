// vector_add.cuda.90_empty_grid: the number of blocks is rounded down, to none at all for short vectors.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  cuda::launch(add, unsigned(n / 4096), 256, 0, x.a, x.b, x.c, n);  // ERROR cudaErrorInvalidConfiguration
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
