// matmul.cuda.04_register_tile_1d: eight rows per thread.
//
// CHANGE    a thread has 8 elements of a column of C, in registers. Each float of B it takes from shared
//           memory serves 8 multiply-adds. The block's tile grows to 64 x 64, its depth shrinks to 8, so that
//           512 threads still fetch one float of A and one of B each.
// EXPECT    v₁ = 8 rows by v₂ = 1 column a thread: shared memory is read n³/8 + n³ times in place of 2n³,
//           9 requests for 8 multiply-adds, all of them without conflicts. Global memory: n³/64 + n³/64
//           floats. Up to twice the parent.
// NUMERICS  as the parent.
// NEEDS     4 KB of shared memory.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 64, kDepth = 8;
constexpr int kRows = 8;  // of a thread
constexpr int kThreads = kTile * kTile / kRows;
static_assert(kTile * kDepth == kThreads, "a thread fetches one float of each tile");

__global__ void __launch_bounds__(kThreads) multiply(const float* __restrict__ a, const float* __restrict__ b,
                                                     float* __restrict__ c, int64_t m, int64_t n, int64_t k) {
  __shared__ float tile_a[kTile][kDepth];
  __shared__ float tile_b[kDepth][kTile];
  const int t = threadIdx.x;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int a_row = t / kDepth, a_p = t % kDepth;   // the elements that this thread fetches
  const int b_p = t / kTile, b_column = t % kTile;  //
  const int row = t / kTile * kRows, column = t % kTile;
  float sum[kRows] = {};
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    tile_a[a_row][a_p] = i0 + a_row < m && p0 + a_p < k ? a[(i0 + a_row) * k + p0 + a_p] : 0;
    tile_b[b_p][b_column] = p0 + b_p < k && j0 + b_column < n ? b[(p0 + b_p) * n + j0 + b_column] : 0;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      const float of_b = tile_b[p][column];
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum[r] += tile_a[row + r][p] * of_b;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    if (i0 + row + r < m && j0 + column < n) c[(i0 + row + r) * n + j0 + column] = sum[r];
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), 0, x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "03_shared_tile",
                      .tiles = {kDepth, kTile},
                      .expect = {.shape = {1024, 1024, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
