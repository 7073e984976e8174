// matmul_bf16.cuda.01_naive: one thread per element of C.
//
// CHANGE    the naive kernel: a dot product a thread, neighbors along a row of C; factors become floats one by one.
// EXPECT    a warp reads one element of A and 64 bytes of B for 32 multiply-adds: requests bind, not arithmetic.
// NUMERICS  float, fused multiply-add on the GPU; one chain of k additions.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

constexpr int kColumns = 32, kSide = 8;  // a block's columns and rows of C

__global__ void __launch_bounds__(kSide* kColumns)
    multiply(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, float* __restrict__ c,
             int64_t m, int64_t n, int64_t k) {
  const int64_t across = (n + kColumns - 1) / kColumns;
  const int64_t i = blockIdx.x / across * kSide + threadIdx.y;
  const int64_t j = blockIdx.x % across * kColumns + threadIdx.x;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int64_t p = 0; p < k; ++p) sum += __bfloat162float(a[i * k + p]) * __bfloat162float(b[p * n + j]);
  c[i * n + j] = sum;
}

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kSide - 1) / kSide, across = (n + kColumns - 1) / kColumns;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kColumns, kSide), 0,
               reinterpret_cast<const __nv_bfloat16*>(x.a), reinterpret_cast<const __nv_bfloat16*>(x.b), x.c,
               m, n, k);
}

KLAB_VARIANT(MatmulBf16, {.run = run, .tiles = {kSide, kColumns}});

}  // namespace
}  // namespace klab
