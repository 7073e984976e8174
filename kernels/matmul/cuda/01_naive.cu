// matmul.cuda.01_naive: one thread per element of C, neighboring threads down a column.
//
// CHANGE    the naive kernel: one dot product a thread, n·m threads in place of two loops. The lanes of a
//           warp stand on 32 rows of one column.
// EXPECT    all lanes want the same float of B, 1 sector per request, and 32 floats of A that lie k apart: 32
//           sectors/request where 4 would do. Stores of C touch 32 rows as well. 2n³ floats are asked for,
//           at 1/4 operation per byte: a percent or two of the peak.
// NUMERICS  float, fused multiply-add on the GPU; one chain of k additions.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kSide = 32, kColumns = 8;  // a block's rows and columns of C

__global__ void __launch_bounds__(kSide* kColumns)
    multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
             int64_t n, int64_t k) {
  const int64_t across = (n + kColumns - 1) / kColumns;
  const int64_t i = blockIdx.x / across * kSide + threadIdx.x;
  const int64_t j = blockIdx.x % across * kColumns + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kSide - 1) / kSide, across = (n + kColumns - 1) / kColumns;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kSide, kColumns), 0, x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul, {.run = run, .tiles = {kColumns, kSide}});

}  // namespace
}  // namespace klab
