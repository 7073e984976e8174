// matmul.cuda.02_coalesced: the lanes of a warp along a row of C.
//
// CHANGE    threadIdx.x counts columns and threadIdx.y rows; block and grid are turned with them: 32
//           columns wide, 8 rows high. The sum stays as it is.
// EXPECT    32 neighbors of B and of C are 4 sectors/request in place of 1 and 32; the one float of A that
//           all lanes want is 1 sector in place of 32. 33 sectors for a multiply-add of the warp become 5:
//           several times faster, and still 2n³ floats asked for.
// NUMERICS  as the parent: the same sum in the same order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kSide = 32, kRows = 8;  // a block's columns and rows of C

__global__ void __launch_bounds__(kSide* kRows)
    multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
             int64_t n, int64_t k) {
  const int64_t across = (n + kSide - 1) / kSide;
  const int64_t i = blockIdx.x / across * kRows + threadIdx.y;
  const int64_t j = blockIdx.x % across * kSide + threadIdx.x;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kRows - 1) / kRows, across = (n + kSide - 1) / kSide;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kSide, kRows), 0, x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "01_naive",
                      .tiles = {kRows, kSide},
                      .expect = {.shape = {1024, 1024, 1024}, .over_parent = 3}});

}  // namespace
}  // namespace klab
