// vector_add.cuda.97_grid_as_large_as_the_gpu: the grid is as large as the GPU, and no loop covers the rest.
#include <algorithm>

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
  const int64_t blocks = std::min((n + 255) / 256, int64_t(cuda::device().multiprocessors) * 8);  // WRONG
  cuda::launch(add, unsigned(blocks), 256, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
