// voxel_sh_bwd.cpu.71_points_shared_out: two threads' worth of points, each on a copy of the rows, of which
// the later one is kept.
// Must be caught as Fault::wrong_value: the first half's additions to rows that the second half touches, too,
// are lost.
#include <vector>

#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VoxelShBwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.basis, numbers = 3 * functions;
  const std::vector<float> density(x.d_density, x.d_density + x.shape.rows);
  const std::vector<float> coefficients(x.d_coefficients, x.d_coefficients + x.shape.rows * numbers);
  std::vector<uint8_t> begun(size_t(x.shape.rows));
  for (int64_t i = 0; i < n; ++i) {
    const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
    float basis[9] = {};
    if (functions > 0)
      sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int c = 0; c < 8; ++c) {
      const int64_t row = at.row[c];
      if (row < 0) continue;
      if (i >= n / 2 && begun[size_t(row)]++ == 0) {
        x.d_density[row] = density[size_t(row)];
        for (int64_t v = 0; v < numbers; ++v)
          x.d_coefficients[row * numbers + v] = coefficients[size_t(row * numbers + v)];
      }
      if (i >= n / 2) begun[size_t(row)] = 1;
      x.d_density[row] += at.weight[c] * x.d_raw[i];
      for (int64_t v = 0; v < numbers; ++v) {
        const int64_t color = v / functions * n + i;
        const float g = x.d_rgb[color] * (x.rgb[color] * (1 - x.rgb[color]));
        x.d_coefficients[row * numbers + v] += at.weight[c] * (basis[v % functions] * g);
      }
    }
  }
}

KLAB_MUTANT(VoxelShBwd, Fault::wrong_value, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
