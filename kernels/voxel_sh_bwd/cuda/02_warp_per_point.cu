// voxel_sh_bwd.cuda.02_warp_per_point: a lane has a number of the row.
//
// CHANGE    a warp takes one point, and 27 lanes add to 27 numbers that lie together; lane 31 adds to the density meanwhile.
// EXPECT    as many additions, but those of a request fall into some four sectors in place of thirty: L2 takes a sector's
//           together.
// NUMERICS  float; contributions in the order in which they arrive, so two runs differ.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kPoints = kThreads / 32;

__global__ void __launch_bounds__(kThreads) each(VoxelShBwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kPoints + threadIdx.x / 32;
  const int lane = int(threadIdx.x % 32), functions = int(x.shape.basis), numbers = 3 * functions;
  if (i >= n) return;  // a whole warp
  const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
  float number = 0;
  if (lane < numbers) {
    float basis[9];
    sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    float own = 0;  // of the lane's harmonic, chosen without an array that is indexed
    for (int b = 0; b < 9; ++b)
      if (b < functions && lane % functions == b) own = basis[b];
    const int64_t color = lane / functions * n + i;
    const float rgb = x.rgb[color];
    number = own * (x.d_rgb[color] * (rgb * (1 - rgb)));
  }
  const float d_raw = x.d_raw[i];
  for (int c = 0; c < 8; ++c) {
    if (at.row[c] < 0) continue;
    if (lane < numbers)
      atomicAdd(x.d_coefficients + int64_t(at.row[c]) * numbers + lane, at.weight[c] * number);
    if (lane == 31) atomicAdd(x.d_density + at.row[c], at.weight[c] * d_raw);
  }
}

void run(const VoxelShBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, dim3(unsigned((x.shape.n + kPoints - 1) / kPoints)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VoxelShBwd, {.run = run,
                          .parent = "01_atomics",
                          .forward = "02_warp_per_point",
                          .numerics = {.growth = Growth::linear, .deterministic = false},
                          .tiles = {kPoints},
                          .expect = {.shape = {1 << 15, 32, 1 << 14, 9}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
