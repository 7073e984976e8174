// voxel_sh_fwd.cpu.70_axes_swapped: links are read with x slowest and z contiguous.
// Must be caught as Fault::wrong_value: right on a diagonal only.
#include <cmath>

#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VoxelShFwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.basis;
  for (int64_t i = 0; i < n; ++i) {
    const float swapped[3] = {x.positions[2 * n + i], x.positions[n + i], x.positions[i]};
    const VoxelCorners at = voxel_corners(swapped, x.links, 1, x.shape.grid, 0);
    float raw = 0, basis[9];
    for (int c = 0; c < 8; ++c) raw += at.weight[c] * (at.row[c] < 0 ? *x.empty : x.density[at.row[c]]);
    x.raw[i] = raw;
    if (functions == 0) continue;
    sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int64_t k = 0; k < 3; ++k) {
      float sum = 0;
      for (int c = 0; c < 8; ++c)
        for (int64_t b = 0; at.row[c] >= 0 && b < functions; ++b)
          sum += at.weight[c] * basis[b] * x.coefficients[(at.row[c] * 3 + k) * functions + b];
      x.rgb[k * n + i] = 1 / (1 + std::exp(-sum));
    }
  }
}

KLAB_MUTANT(VoxelShFwd, Fault::wrong_value, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
