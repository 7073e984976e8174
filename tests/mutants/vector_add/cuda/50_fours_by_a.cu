// vector_add.cuda.50_fours_by_a: reads and writes sixteen bytes at a time when the first of three pointers allows it.
// Class: alignment. Must be caught as Fault::finding.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n, bool fours) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (fours && 4 * i + 3 < n) {
    const float4 x = reinterpret_cast<const float4*>(a)[i], y = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    return;
  }
  if (fours && 4 * i >= n) return;
  const int64_t begin = fours ? 4 * i : i, end = fours ? n : i + 1;
  for (int64_t k = begin; k < end && k < n; ++k) c[k] = a[k] + b[k];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const bool fours = reinterpret_cast<uintptr_t>(x.a) % 16 == 0;
  cuda::launch(add, unsigned((n + 255) / 256), 256, 0, x.a, x.b, x.c, n, fours);
}

KLAB_VARIANT(VectorAdd, {.run = run});

}  // namespace
}  // namespace klab
