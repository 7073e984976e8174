// vector_add.cuda.51_blocks_in_sixteen_bits: counts its blocks of 16 threads in 16 bits.
// Class: sizes. Must be caught as Fault::not_written.
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
  if (n == 0) return;
  const auto blocks = uint16_t((n + 15) / 16);
  cuda::launch(add, unsigned(blocks), 16, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run});

}  // namespace
}  // namespace klab
