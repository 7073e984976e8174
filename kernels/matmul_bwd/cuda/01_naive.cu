// matmul_bwd.cuda.01_naive: one thread per element of each gradient.
//
// CHANGE    the two sums of the definition, one kernel each; lanes along the rows of the result.
// EXPECT    d_b is the forward's coalesced kernel: a word of A for all lanes and 32 neighbors of d_c, 5
//           sectors for 32 multiply-adds. d_a is not: its lanes read 32 rows of B, n apart, 33 sectors. So
//           d_a takes several times as long, for the same work.
// NUMERICS  float, fused multiply-add on the GPU; one chain of n (d_a) or m (d_b) additions.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

constexpr int kSide = 32, kRows = 8;  // a block's columns and rows of the result

__global__ void __launch_bounds__(kSide* kRows)
    gradient_a(const float* __restrict__ d_c, const float* __restrict__ b, float* __restrict__ d_a, int64_t m,
               int64_t n, int64_t k) {
  const int64_t across = (k + kSide - 1) / kSide;
  const int64_t i = blockIdx.x / across * kRows + threadIdx.y;
  const int64_t p = blockIdx.x % across * kSide + threadIdx.x;
  if (i >= m || p >= k) return;
  float sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += d_c[i * n + j] * b[p * n + j];
  d_a[i * k + p] = sum;
}

__global__ void __launch_bounds__(kSide* kRows)
    gradient_b(const float* __restrict__ a, const float* __restrict__ d_c, float* __restrict__ d_b, int64_t m,
               int64_t n, int64_t k) {
  const int64_t across = (n + kSide - 1) / kSide;
  const int64_t p = blockIdx.x / across * kRows + threadIdx.y;
  const int64_t j = blockIdx.x % across * kSide + threadIdx.x;
  if (p >= k || j >= n) return;
  float sum = 0;
  for (int64_t i = 0; i < m; ++i) sum += a[i * k + p] * d_c[i * n + j];
  d_b[p * n + j] = sum;
}

unsigned blocks(int64_t rows, int64_t columns) {
  return unsigned((rows + kRows - 1) / kRows * ((columns + kSide - 1) / kSide));
}

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const dim3 block(kSide, kRows);
  if (m > 0 && k > 0) cuda::launch(gradient_a, dim3(blocks(m, k)), block, 0, x.d_c, x.b, x.d_a, m, n, k);
  if (k > 0 && n > 0) cuda::launch(gradient_b, dim3(blocks(k, n)), block, 0, x.a, x.d_c, x.d_b, m, n, k);
}

KLAB_VARIANT(MatmulBwd, {.run = run, .forward = "02_coalesced", .tiles = {kRows, kSide}});

}  // namespace
}  // namespace klab
