// transpose.cuda.81_barrier_in_branch: only the threads inside the matrix reach the barrier.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

__global__ void transpose(const float* in, float* out, int64_t m, int64_t n) {
  __shared__ float tile[32][33];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t i0 = int64_t(blockIdx.y) * 32, j0 = int64_t(blockIdx.x) * 32;
  for (int r = y; r < 32; r += 8)
    if (i0 + r < m && j0 + x < n) tile[r][x] = in[(i0 + r) * n + j0 + x];  // FINDING race on shared memory
  if (j0 + x < n) __syncthreads();                                         // FINDING barrier divergence
  for (int r = y; r < 32; r += 8)
    if (j0 + r < n && i0 + x < m) out[(j0 + r) * m + i0 + x] = tile[x][r];  // FINDING race on shared memory
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  if (m == 0 || n == 0) return;
  const dim3 grid(unsigned((n + 31) / 32), unsigned((m + 31) / 32));
  cuda::launch(transpose, grid, dim3(32, 8), 0, x.in, x.out, m, n);
}

KLAB_VARIANT(Transpose, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
