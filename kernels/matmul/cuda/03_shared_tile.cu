// matmul.cuda.03_shared_tile: tiles of A and B are fetched once a block.
//
// CHANGE    the block walks along k in steps of 32. Each thread brings one float of A and one of B to shared
//           memory, and then all of them use all of it.
// EXPECT    a float that is fetched serves 32 threads: n³/32 + n³/32 floats come from global memory in place
//           of 2n³, at 4 sectors/request. Shared memory is read twice for each multiply-add, without
//           conflicts: a warp reads one word of A and 32 neighbors of B. That is the limit now, far from the
//           peak; 1.2 times the parent or more, whose own repetitions hit L1.
// NUMERICS  as the parent: zeros beyond the edge of k add nothing.
// NEEDS     8 KB of shared memory.
// SASS      LDS STS; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 32;

__global__ void __launch_bounds__(kTile* kTile)
    multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
             int64_t n, int64_t k) {
  __shared__ float tile_a[kTile][kTile];  // [row][p]
  __shared__ float tile_b[kTile][kTile];  // [p][column]
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i = blockIdx.x / across * kTile + y, j = blockIdx.x % across * kTile + x;
  float sum = 0;
  for (int64_t p0 = 0; p0 < k; p0 += kTile) {
    tile_a[y][x] = i < m && p0 + x < k ? a[i * k + p0 + x] : 0;
    tile_b[y][x] = p0 + y < k && j < n ? b[(p0 + y) * n + j] : 0;
    __syncthreads();
    for (int p = 0; p < kTile; ++p) sum += tile_a[y][p] * tile_b[p][x];
    __syncthreads();  // before the next tiles are written over these
  }
  if (i < m && j < n) c[i * n + j] = sum;
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kTile, kTile), 0, x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "02_coalesced",
                      .tiles = {kTile},
                      .expect = {.shape = {1024, 1024, 1024}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
