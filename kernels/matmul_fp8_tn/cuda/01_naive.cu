// matmul_fp8_tn.cuda.01_naive: one thread per element of C.
//
// CHANGE    the naive kernel: a dot product a thread, neighbors along a row of C; a byte becomes a float by
//           its exponent moved to its place in a float.
// EXPECT    a warp's request of B is one byte from each of 32 rows: 32 sectors. L1 keeps them for the next 31 depths.
// NUMERICS  float sums of exact products, in order of p.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_fp8_tn/matmul_fp8_tn.h"

namespace klab {
namespace {

constexpr int kColumns = 32, kSide = 8;  // a block's columns and rows of C

/// The bits of a number that is no NaN, 2^120 times too small: denormals of e4m3 are denormals of float then, and the product
/// with the power of two is exact.
__device__ __forceinline__ float value(uint8_t bits) {
  const unsigned moved = unsigned(bits & 0x7FU) << 20 | unsigned(bits & 0x80U) << 24;
  return __uint_as_float(moved) * 0x1p120F;
}

__global__ void __launch_bounds__(kSide* kColumns)
    multiply(const uint8_t* __restrict__ a, const uint8_t* __restrict__ b, const float* __restrict__ scale,
             float* __restrict__ c, int64_t m, int64_t n, int64_t k) {
  const int64_t across = (n + kColumns - 1) / kColumns;
  const int64_t i = blockIdx.x / across * kSide + threadIdx.y;
  const int64_t j = blockIdx.x % across * kColumns + threadIdx.x;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int64_t p = 0; p < k; ++p) sum += value(a[i * k + p]) * value(b[j * k + p]);
  c[i * n + j] = sum * scale[j];
}

void run(const MatmulFp8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kSide - 1) / kSide, across = (n + kColumns - 1) / kColumns;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kColumns, kSide), 0, x.a, x.b, x.scale, x.c, m,
               n, k);
}

KLAB_VARIANT(MatmulFp8Tn, {.run = run, .tiles = {kSide, kColumns}});

}  // namespace
}  // namespace klab
