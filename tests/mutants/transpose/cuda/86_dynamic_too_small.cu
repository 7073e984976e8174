// transpose.cuda.86_dynamic_too_small: pads the rows of the tile, and does not ask for the padding.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

__global__ void transpose(const float* in, float* out, int64_t m, int64_t n) {
  KLAB_DYNAMIC_SHARED(float, tile);
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t i0 = int64_t(blockIdx.y) * 32, j0 = int64_t(blockIdx.x) * 32;
  for (int r = y; r < 32; r += 8)
    if (i0 + r < m && j0 + x < n) tile[r * 33 + x] = in[(i0 + r) * n + j0 + x];  // FINDING out of bounds
  __syncthreads();
  for (int r = y; r < 32; r += 8)
    if (j0 + r < n && i0 + x < m) out[(j0 + r) * m + i0 + x] = tile[x * 33 + r];
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  if (m == 0 || n == 0) return;
  const dim3 grid(unsigned((n + 31) / 32), unsigned((m + 31) / 32));
  cuda::launch(transpose, grid, dim3(32, 8), 32 * 32 * sizeof(float), x.in, x.out, m, n);
}

KLAB_VARIANT(Transpose, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
