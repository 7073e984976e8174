// voxel_sh_bwd.cpu.70_logistic_forgotten: the gradient of a color is used as if it were that of the sum
// behind it.
// Must be caught as Fault::wrong_value: where a color is nearly 0 or 1 the sum hardly moves it.
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VoxelShBwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.basis;
  for (int64_t i = 0; i < n; ++i) {
    const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
    float basis[9] = {};
    if (functions > 0)
      sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int c = 0; c < 8; ++c) {
      if (at.row[c] < 0) continue;
      x.d_density[at.row[c]] += at.weight[c] * x.d_raw[i];
      for (int64_t v = 0; v < 3 * functions; ++v)
        x.d_coefficients[at.row[c] * 3 * functions + v] +=
            at.weight[c] * (basis[v % functions] * x.d_rgb[v / functions * n + i]);
    }
  }
}

KLAB_MUTANT(VoxelShBwd, Fault::wrong_value, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
