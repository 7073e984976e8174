// voxel_sh_fwd.cuda.02_warp_per_point: a lane has a number of the row.
//
// CHANGE    a warp takes one point: a row's 27 numbers lie together, and 27 lanes load them in one request.
//           All lanes find the same corners. A lane multiplies its sum by its harmonic; three sums over nine
//           lanes each are made by shuffles.
// EXPECT    eight requests of some four sectors for each point, in place of 216 requests, each for 32 points:
//           the sectors are those of the rows.
// NUMERICS  float; sums over the harmonics as trees.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kPoints = kThreads / 32;
constexpr unsigned kWarp = ~0U;

__global__ void __launch_bounds__(kThreads) each(VoxelShFwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kPoints + threadIdx.x / 32;
  const int lane = int(threadIdx.x % 32), functions = int(x.shape.basis), numbers = 3 * functions;
  if (i >= n) return;  // a whole warp
  const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
  float number = 0;
  for (int c = 0; c < 8; ++c)
    if (lane < numbers && at.row[c] >= 0)
      number += at.weight[c] * x.coefficients[int64_t(at.row[c]) * numbers + lane];
  if (lane == 0) {
    float raw = 0;
    for (int c = 0; c < 8; ++c) raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : x.density[at.row[c]]);
    x.raw[i] = raw;
  }
  if (functions == 0) return;
  float basis[9];
  sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
  float own = 0;  // of the lane's harmonic, chosen without an array that is indexed
  for (int b = 0; b < 9; ++b)
    if (b < functions && lane % functions == b) own = basis[b];
  const float product = lane < numbers ? own * number : 0.0F;
  for (int k = 0; k < 3; ++k) {
    float sum = lane >= k * functions && lane < (k + 1) * functions ? product : 0.0F;
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(kWarp, sum, by);
    if (lane == k) x.rgb[k * n + i] = 1 / (1 + expf(-sum));
  }
}

void run(const VoxelShFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, dim3(unsigned((x.shape.n + kPoints - 1) / kPoints)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VoxelShFwd, {.run = run,
                          .parent = "01_thread_per_point",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {kPoints},
                          .expect = {.shape = {1 << 15, 32, 1 << 14, 9}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
