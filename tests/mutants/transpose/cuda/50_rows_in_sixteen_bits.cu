// transpose.cuda.50_rows_in_sixteen_bits: has a block for each row, and counts them in 16 bits.
// Class: sizes. Must be caught as Fault::not_written.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

__global__ void transpose(const float* in, float* out, int64_t m, int64_t n) {
  for (int64_t j = threadIdx.x; j < n; j += blockDim.x) out[j * m + blockIdx.x] = in[blockIdx.x * n + j];
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  const auto rows = uint16_t(m);
  if (rows == 0 || n == 0) return;
  cuda::launch(transpose, unsigned(rows), 32, 0, x.in, x.out, m, n);
}

KLAB_VARIANT(Transpose, {.run = run});

}  // namespace
}  // namespace klab
