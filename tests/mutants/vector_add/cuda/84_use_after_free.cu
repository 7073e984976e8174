// vector_add.cuda.84_use_after_free: scratch memory is used after it has been given back.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void copy(const float* from, float* to, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];  // FINDING use after free
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const unsigned blocks = unsigned((n + 255) / 256);
  float* kept = nullptr;
  {
    const cuda::Scratch scratch(size_t(n) * sizeof(float));
    kept = scratch.as<float>();
    cuda::launch(copy, blocks, 256, 0, x.a, kept, n);
  }
  cuda::launch(add, blocks, 256, 0, kept, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
