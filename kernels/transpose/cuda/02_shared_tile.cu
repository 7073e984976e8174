// transpose.cuda.02_shared_tile: tiles transposed in shared memory.
//
// CHANGE    a block of 32 x 8 threads takes a tile of 32 x 32, four elements per thread: reads it along rows
//           of the input, waits, and writes rows of the output, which are columns of the tile. As many
//           blocks as there are tiles.
// EXPECT    4 sectors/request on both sides. The price: a column of the tile lies in one bank, so a warp that reads
//           it takes 32 wavefronts, 31 more than it should. Still several times the parent.
// NUMERICS  moves bits.
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
    for (int r = y; r < kTile; r += kRows)
      if (i0 + r < m && j0 + x < n) tile[r][x] = in[(i0 + r) * n + j0 + x];
    __syncthreads();
    for (int r = y; r < kTile; r += kRows)
      if (j0 + r < n && i0 + x < m) out[(j0 + r) * m + i0 + x] = tile[x][r];
    __syncthreads();  // before the next tile is written over this one
  }
}

#include "kernels/transpose/cuda/02_shared_tile-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "01_naive",
                         .tiles = {kTile},
                         .expect = {.shape = {4096, 4096}, .over_parent = 2}});

}  // namespace
}  // namespace klab
