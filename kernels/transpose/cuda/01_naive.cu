// transpose.cuda.01_naive: one thread per element, in the order of the input.
//
// CHANGE    the naive kernel: out[j,i] = in[i,j].
// EXPECT    a warp reads 32 neighbors, 4 sectors/request, and writes 32 floats m apart, 32 sectors/request.
//           Each sector written uses 4 of its 32 bytes, so the writes move eight times their bytes.
// NUMERICS  moves bits.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

constexpr int kWidth = 32, kRows = 8;

__global__ void __launch_bounds__(kWidth* kRows)
    transpose(const float* __restrict__ in, float* __restrict__ out, int64_t m, int64_t n) {
  const int64_t j = int64_t(blockIdx.x) * kWidth + threadIdx.x;
  const int64_t step = int64_t(gridDim.y) * kRows;
  if (j >= n) return;
  for (int64_t i = int64_t(blockIdx.y) * kRows + threadIdx.y; i < m; i += step)
    out[j * m + i] = in[i * n + j];
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kRows - 1) / kRows;
  const dim3 grid(unsigned((n + kWidth - 1) / kWidth), unsigned(down < 65535 ? down : 65535));
  cuda::launch(transpose, grid, dim3(kWidth, kRows), 0, x.in, x.out, m, n);
}

KLAB_VARIANT(Transpose, {.run = run, .tiles = {kWidth}});

}  // namespace
}  // namespace klab
