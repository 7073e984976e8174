// matmul_bwd.cuda.02_shared_tile: fetched as it lies, used as it is needed.
//
// CHANGE    tiles of 32 x 32 in shared memory, each fetched along its rows; which way a tile is read later is
//           shared memory's business. The tile of B is read down its rows by the lanes, so its rows are
//           padded to 33.
// EXPECT    4 sectors for each request of both gradients, and n³/32 + n³/32 floats fetched. No conflicts: a
//           column of the tile of B is 32 banks. d_a comes down to the time of d_b; both together at least 2
//           times faster.
// NUMERICS  as the parent: zeros beyond the edges add nothing.
// NEEDS     8.3 KB of shared memory.
// TRIED     on paper: no padding. 31 conflicts for each multiply-add of d_a, worse than the sectors were.
// SASS      LDS STS; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 32;

__global__ void __launch_bounds__(kTile* kTile)
    gradient_a(const float* __restrict__ d_c, const float* __restrict__ b, float* __restrict__ d_a, int64_t m,
               int64_t n, int64_t k) {
  __shared__ float tile_c[kTile][kTile];      // [i][j]
  __shared__ float tile_b[kTile][kTile + 1];  // [p][j]
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t across = (k + kTile - 1) / kTile;
  const int64_t i = blockIdx.x / across * kTile + y, p0 = blockIdx.x % across * kTile;
  float sum = 0;
  for (int64_t j0 = 0; j0 < n; j0 += kTile) {
    tile_c[y][x] = i < m && j0 + x < n ? d_c[i * n + j0 + x] : 0;
    tile_b[y][x] = p0 + y < k && j0 + x < n ? b[(p0 + y) * n + j0 + x] : 0;
    __syncthreads();
    for (int j = 0; j < kTile; ++j) sum += tile_c[y][j] * tile_b[x][j];
    __syncthreads();
  }
  if (i < m && p0 + x < k) d_a[i * k + p0 + x] = sum;
}

__global__ void __launch_bounds__(kTile* kTile)
    gradient_b(const float* __restrict__ a, const float* __restrict__ d_c, float* __restrict__ d_b, int64_t m,
               int64_t n, int64_t k) {
  __shared__ float tile_a[kTile][kTile];  // [i][p]
  __shared__ float tile_c[kTile][kTile];  // [i][j]
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t p0 = blockIdx.x / across * kTile, j = blockIdx.x % across * kTile + x;
  float sum = 0;
  for (int64_t i0 = 0; i0 < m; i0 += kTile) {
    tile_a[y][x] = i0 + y < m && p0 + x < k ? a[(i0 + y) * k + p0 + x] : 0;
    tile_c[y][x] = i0 + y < m && j < n ? d_c[(i0 + y) * n + j] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[i][y] * tile_c[i][x];
    __syncthreads();
  }
  if (p0 + y < k && j < n) d_b[(p0 + y) * n + j] = sum;
}

unsigned blocks(int64_t rows, int64_t columns) {
  return unsigned((rows + kTile - 1) / kTile * ((columns + kTile - 1) / kTile));
}

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const dim3 block(kTile, kTile);
  if (m > 0 && k > 0) cuda::launch(gradient_a, dim3(blocks(m, k)), block, 0, x.d_c, x.b, x.d_a, m, n, k);
  if (k > 0 && n > 0) cuda::launch(gradient_b, dim3(blocks(k, n)), block, 0, x.a, x.d_c, x.d_b, m, n, k);
}

KLAB_VARIANT(MatmulBwd, {.run = run,
                         .parent = "01_naive",
                         .forward = "03_shared_tile",
                         .tiles = {kTile},
                         .expect = {.shape = {1024, 1024, 1024}, .over_parent = 2}});

}  // namespace
}  // namespace klab
