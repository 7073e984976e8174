// matmul_int8.cuda.02_dp4a: four products and their sum in one instruction, from tiles in shared memory.
//
// CHANGE    a block has 64 x 64 of C. Four neighbors of a row of A, and four of a column of B, lie in a word of shared memory;
//           __dp4a multiplies two such words and adds. A thread has 4 x 4 sums.
// EXPECT    a byte is requested once for 64 results in place of one, and an instruction does 8 operations where a float one
//           does 2: ten times the parent.
// NUMERICS  exact sums in 32 bits; a conversion and a product.
// NEEDS     compute capability 6.1; 9 KB of shared memory.
// SASS      IDP.4A; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/byte_tiles.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

constexpr int kTile = ByteTiles::kTile, kDepth = ByteTiles::kDepth, kThreads = 256, kEach = 4;

__global__ void __launch_bounds__(kThreads)
    multiply(const int8_t* __restrict__ a, const int8_t* __restrict__ b, const float* __restrict__ scale,
             float* __restrict__ c, int64_t m, int64_t n, int64_t k, bool whole) {
  __shared__ ByteTiles tiles;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  // Sixteen threads along a row, each with columns 16 apart: neighbors store neighbors.
  const int column = int(threadIdx.x) % 16, row = int(threadIdx.x) / 16 * kEach;
  int sums[kEach][kEach] = {};
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    bring<kThreads>(tiles, a, b, m, n, k, i0, j0, p0, whole);
    __syncthreads();
    for (int w = 0; w < ByteTiles::kWords; ++w) {
      int of_a[kEach], of_b[kEach];
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        of_a[e] = int(tiles.a[row + e][w]);
        of_b[e] = int(tiles.b[column + 16 * e][w]);
      }
#pragma unroll
      for (int r = 0; r < kEach; ++r)
#pragma unroll
        for (int s = 0; s < kEach; ++s) sums[r][s] = __dp4a(of_a[r], of_b[s], sums[r][s]);
    }
    __syncthreads();
  }
  for (int r = 0; r < kEach; ++r)
    for (int s = 0; s < kEach; ++s) {
      const int64_t i = i0 + row + r, j = j0 + column + 16 * s;
      if (i < m && j < n) c[i * n + j] = float(sums[r][s]) * scale[j];
    }
}

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const bool whole = k % 4 == 0 && reinterpret_cast<uintptr_t>(x.a) % 4 == 0;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), 0, x.a, x.b, x.scale, x.c, m, n, k,
               whole);
}

KLAB_VARIANT(MatmulInt8,
             {.run = run,
              .parent = "01_naive",
              .tiles = {4, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 4},
              .supported = [](const MatmulInt8::Shape&, const Host& host) { return cuda::needs(host, 61); }});

}  // namespace
}  // namespace klab
