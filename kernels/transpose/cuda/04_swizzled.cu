// transpose.cuda.04_swizzled: columns of the tile exchanged within each row.
//
// CHANGE    no padding: row r keeps its column c at c ^ r, which is another bank for each r.
// EXPECT    0 conflicts as with padding, and 128 bytes of shared memory a block less. As fast as the parent;
//           the gain is a tile whose size is a power of two, which 16-byte accesses and larger tiles will
//           need.
// NUMERICS  moves bits.
// TRIED     (c + r) % 32: as free of conflicts, one instruction more.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

constexpr int kTile = 32, kRows = 8;

__global__ void __launch_bounds__(kTile* kRows)
    transpose(const float* __restrict__ in, float* __restrict__ out, int64_t m, int64_t n) {
  __shared__ float tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t j0 = int64_t(blockIdx.x) * kTile;
  for (int64_t i0 = int64_t(blockIdx.y) * kTile; i0 < m; i0 += int64_t(gridDim.y) * kTile) {
    // All loads before the first store: a number of rounds that the compiler sees, and a separate value for
    // each.
    float v[kTile / kRows] = {};
#pragma unroll
    for (int k = 0; k < kTile / kRows; ++k) {
      const int r = y + k * kRows;
      if (i0 + r < m && j0 + x < n) v[k] = in[(i0 + r) * n + j0 + x];
    }
#pragma unroll
    for (int k = 0; k < kTile / kRows; ++k) {
      const int r = y + k * kRows;
      if (i0 + r < m && j0 + x < n) tile[r][x ^ r] = v[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile / kRows; ++k) {
      const int r = y + k * kRows;
      if (j0 + r < n && i0 + x < m) out[(j0 + r) * m + i0 + x] = tile[x][r ^ x];
    }
    __syncthreads();  // before the next tile is written over this one
  }
}

#include "kernels/transpose/cuda/02_shared_tile-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "03_padded",
                         .tiles = {kTile},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1}});

}  // namespace
}  // namespace klab
