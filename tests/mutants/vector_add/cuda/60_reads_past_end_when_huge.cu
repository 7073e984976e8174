// vector_add.cuda.60_reads_past_end_when_huge: looks one element ahead of large ones, also behind the last.
// Class: inputs. Must be caught as Fault::finding.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  c[i] = a[i] + b[i];
  if (a[i] > 1e10F && b[i + 1] == 12345.0F) c[i] = 0;
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(add, unsigned((n + 255) / 256), 256, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
