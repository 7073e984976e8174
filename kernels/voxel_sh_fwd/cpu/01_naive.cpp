// voxel_sh_fwd.cpu.01_naive: a point, its harmonics, one number after the other.
//
// CHANGE    the naive loop: as the formulas read, eight corners for each number of a row.
// EXPECT    a row's numbers lie together, but are loaded corner by corner: each of 28 sums goes to eight
//           places.
// NUMERICS  float, sums in the order of the corners.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {
namespace {

struct Corners {
  int64_t row[8];  // -1: none
  float weight[8];
};

Corners corners_of(const VoxelShFwd::Args<float>& x, int64_t i) {
  const int64_t n = x.shape.n, grid = x.shape.grid;
  int64_t cell[3];
  float fraction[3];
  for (int axis = 0; axis < 3; ++axis) {
    const float at = x.positions[axis * n + i] * float(grid);
    cell[axis] = std::min(int64_t(at), grid - 1);
    fraction[axis] = at - float(cell[axis]);
  }
  Corners out;
  for (int c = 0; c < 8; ++c) {
    int64_t at[3];
    out.weight[c] = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const bool upper = (c >> axis & 1) != 0;
      at[axis] = cell[axis] + upper;
      out.weight[c] *= upper ? fraction[axis] : 1 - fraction[axis];
    }
    out.row[c] = x.links[(at[2] * (grid + 1) + at[1]) * (grid + 1) + at[0]];
  }
  return out;
}

void run(const VoxelShFwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.basis;
  const int degree = functions == 9 ? 2 : functions == 4 ? 1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    const Corners at = corners_of(x, i);
    float raw = 0;
    for (int c = 0; c < 8; ++c) raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : x.density[at.row[c]]);
    x.raw[i] = raw;
    if (functions == 0) continue;
    float basis[9];
    sh_basis(degree, x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int64_t k = 0; k < 3; ++k) {
      float sum = 0;
      for (int64_t b = 0; b < functions; ++b) {
        float coefficient = 0;
        for (int c = 0; c < 8; ++c)
          if (at.row[c] >= 0)
            coefficient += at.weight[c] * x.coefficients[(at.row[c] * 3 + k) * functions + b];
        sum += basis[b] * coefficient;
      }
      x.rgb[k * n + i] = 1 / (1 + std::exp(-sum));
    }
  }
}

KLAB_VARIANT(VoxelShFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
