// vector_add.cuda.98_every_other_call: launches nothing at every second call with the same pointers.
// Class: earlier calls. Must be caught as Fault::not_written.
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
  static thread_local const float* last = nullptr;
  const int64_t n = x.shape.n;
  const bool again = n > 0 && last == x.a;
  last = again ? nullptr : x.a;
  if (n == 0 || again) return;
  cuda::launch(add, unsigned((n + 255) / 256), 256, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
