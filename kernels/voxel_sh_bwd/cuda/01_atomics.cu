// voxel_sh_bwd.cuda.01_atomics: one thread per point; eight corners, 28 additions each.
//
// CHANGE    the forward with an atomic addition in place of each read.
// EXPECT    atomics are carried out by L2, one lane's address at a time: 224 for each point, and those of neighboring lanes lie in
//           different rows.
// NUMERICS  float; contributions in the order in which they arrive, so two runs differ.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

template <int kBasis>
__global__ void __launch_bounds__(kThreads) each(VoxelShBwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
  float number[3 * kBasis + 1];
  if constexpr (kBasis > 0) {
    float basis[9];
    sh_basis(voxel_degree(kBasis), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int k = 0; k < 3; ++k) {
      const float rgb = x.rgb[k * n + i], g = x.d_rgb[k * n + i] * (rgb * (1 - rgb));
      for (int b = 0; b < kBasis; ++b) number[k * kBasis + b] = basis[b] * g;
    }
  }
  for (int c = 0; c < 8; ++c) {
    if (at.row[c] < 0) continue;
    atomicAdd(x.d_density + at.row[c], at.weight[c] * x.d_raw[i]);
    float* row = x.d_coefficients + int64_t(at.row[c]) * (3 * kBasis);
    for (int v = 0; v < 3 * kBasis; ++v) atomicAdd(row + v, at.weight[c] * number[v]);
  }
}

void run(const VoxelShBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const dim3 blocks(unsigned((x.shape.n + kThreads - 1) / kThreads)), threads(kThreads);
  switch (x.shape.basis) {
    case 0:
      return cuda::launch(each<0>, blocks, threads, 0, x);
    case 1:
      return cuda::launch(each<1>, blocks, threads, 0, x);
    case 4:
      return cuda::launch(each<4>, blocks, threads, 0, x);
    default:
      return cuda::launch(each<9>, blocks, threads, 0, x);
  }
}

KLAB_VARIANT(VoxelShBwd, {.run = run,
                          .numerics = {.growth = Growth::linear, .deterministic = false},
                          .tiles = {kThreads}});

}  // namespace
}  // namespace klab
