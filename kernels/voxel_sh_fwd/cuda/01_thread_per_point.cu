// voxel_sh_fwd.cuda.01_thread_per_point: one thread per point.
//
// CHANGE    the naive loop, spread over threads; corners outside, numbers inside.
// EXPECT    neighboring lanes read the same number of different rows: a sector of 32 bytes for four of them, as many requests as
//           numbers and corners, 216 for each point.
// NUMERICS  float, sums in the order of the corners.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

template <int kBasis>
__global__ void __launch_bounds__(kThreads) each(VoxelShFwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
  float raw = 0, number[3 * kBasis + 1] = {};
  for (int c = 0; c < 8; ++c) {
    raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : x.density[at.row[c]]);
    if (at.row[c] < 0) continue;
    const float* row = x.coefficients + int64_t(at.row[c]) * (3 * kBasis);
    for (int v = 0; v < 3 * kBasis; ++v) number[v] += at.weight[c] * row[v];
  }
  x.raw[i] = raw;
  if constexpr (kBasis > 0) {
    float basis[9];
    sh_basis(voxel_degree(kBasis), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int k = 0; k < 3; ++k) {
      float sum = 0;
      for (int b = 0; b < kBasis; ++b) sum += basis[b] * number[k * kBasis + b];
      x.rgb[k * n + i] = 1 / (1 + expf(-sum));
    }
  }
}

void run(const VoxelShFwd::Args<float>& x) {
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

KLAB_VARIANT(VoxelShFwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
