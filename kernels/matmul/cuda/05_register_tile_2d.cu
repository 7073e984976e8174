// matmul.cuda.05_register_tile_2d: eight rows and eight columns a thread.
//
// CHANGE    a thread has a square of 8 x 8 elements of C. For each p it takes 8 floats of A and 8 of B from
//           shared memory and makes 64 multiply-adds of them. The block's tile is 128 x 128.
// EXPECT    v₁ = v₂ = 8: n³/8 + n³/8 floats from shared memory, a quarter of a request for a multiply-add;
//           global memory n³/128 + n³/128. A gain of a factor, though not of 4.5: columns of neighboring
//           threads lie 8 words apart, so that 16 words of B fall into 4 banks, 3 conflicts/request, and
//           the two rows of A into one, 1 conflict.
// NUMERICS  as the parent.
// NEEDS     8 KB of shared memory; about 100 registers per thread, so that two blocks of 256 threads fit.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 8;
constexpr int kOwn = 8;                                                        // rows and columns of a thread
constexpr int kThreads = (kTile / kOwn) * (kTile / kOwn);                      // 16 x 16
constexpr int kFetchRows = kThreads / kDepth, kFetchDepth = kThreads / kTile;  // rows fetched at a time

__global__ void __launch_bounds__(kThreads, 2)
    multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
             int64_t n, int64_t k) {
  __shared__ float tile_a[kTile][kDepth];
  __shared__ float tile_b[kDepth][kTile];
  const int t = threadIdx.x;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = t / (kTile / kOwn) * kOwn, column = t % (kTile / kOwn) * kOwn;
  float sum[kOwn][kOwn] = {};
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    for (int r = t / kDepth; r < kTile; r += kFetchRows) {
      const int p = t % kDepth;
      tile_a[r][p] = i0 + r < m && p0 + p < k ? a[(i0 + r) * k + p0 + p] : 0;
    }
    for (int p = t / kTile; p < kDepth; p += kFetchDepth) {
      const int s = t % kTile;
      tile_b[p][s] = p0 + p < k && j0 + s < n ? b[(p0 + p) * n + j0 + s] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      float of_a[kOwn], of_b[kOwn];
#pragma unroll
      for (int r = 0; r < kOwn; ++r) of_a[r] = tile_a[row + r][p];
#pragma unroll
      for (int s = 0; s < kOwn; ++s) of_b[s] = tile_b[p][column + s];
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int s = 0; s < kOwn; ++s) sum[r][s] += of_a[r] * of_b[s];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwn; ++r)
#pragma unroll
    for (int s = 0; s < kOwn; ++s)
      if (i0 + row + r < m && j0 + column + s < n) c[(i0 + row + r) * n + j0 + column + s] = sum[r][s];
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), 0, x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "04_register_tile_1d",
                      .tiles = {kDepth, kTile},
                      .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
