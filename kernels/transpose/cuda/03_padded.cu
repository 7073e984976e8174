// transpose.cuda.03_padded: a column more in each row of the tile.
//
// CHANGE    rows of the tile are 33 floats apart, so the elements of a column lie in 32 different banks.
// EXPECT    bank conflicts go from 31 a request to 0, sectors stay 4. Clearly faster than the parent, and near the
//           copy bandwidth.
// NUMERICS  moves bits.
// TRIED     32 floats more in place of one: the same conflicts as without, since 64 is a multiple of 32 banks.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

constexpr int kTile = 32, kRows = 8;

__global__ void __launch_bounds__(kTile* kRows)
    transpose(const float* __restrict__ in, float* __restrict__ out, int64_t m, int64_t n) {
  __shared__ float tile[kTile][kTile + 1];
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
                         .parent = "02_shared_tile",
                         .tiles = {kTile},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
