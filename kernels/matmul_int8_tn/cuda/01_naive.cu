// matmul_int8_tn.cuda.01_naive: one thread per element of C.
//
// CHANGE    the naive kernel: a dot product a thread, neighbors along a row of C, a byte at a time.
// EXPECT    a warp's request of B is one byte from each of 32 rows: 32 sectors. L1 keeps them for the next 31 depths.
// NUMERICS  exact sums in 32 bits; a conversion and a product.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_int8_tn/matmul_int8_tn.h"

namespace klab {
namespace {

constexpr int kColumns = 32, kSide = 8;  // a block's columns and rows of C

__global__ void __launch_bounds__(kSide* kColumns)
    multiply(const int8_t* __restrict__ a, const int8_t* __restrict__ b, const float* __restrict__ scale,
             float* __restrict__ c, int64_t m, int64_t n, int64_t k) {
  const int64_t across = (n + kColumns - 1) / kColumns;
  const int64_t i = blockIdx.x / across * kSide + threadIdx.y;
  const int64_t j = blockIdx.x % across * kColumns + threadIdx.x;
  if (i >= m || j >= n) return;
  int sum = 0;
  for (int64_t p = 0; p < k; ++p) sum += int(a[i * k + p]) * int(b[j * k + p]);
  c[i * n + j] = float(sum) * scale[j];
}

void run(const MatmulInt8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kSide - 1) / kSide, across = (n + kColumns - 1) / kColumns;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kColumns, kSide), 0, x.a, x.b, x.scale, x.c, m,
               n, k);
}

KLAB_VARIANT(MatmulInt8Tn, {.run = run, .tiles = {kSide, kColumns}});

}  // namespace
}  // namespace klab
