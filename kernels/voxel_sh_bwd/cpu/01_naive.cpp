// voxel_sh_bwd.cpu.01_naive: a point adds to its eight corners, number by number.
//
// CHANGE    the naive loop: the forward with an addition in place of each read.
// EXPECT    8·28 additions to memory for each point; a sum that neighbors share is loaded and stored for each of them.
// NUMERICS  float, contributions in the order of the points.
#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {
namespace {

struct Corners {
  int64_t row[8];  // -1: none
  float weight[8];
};

Corners corners_of(const VoxelShBwd::Args<float>& x, int64_t i) {
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

void run(const VoxelShBwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.basis;
  const int degree = functions == 9 ? 2 : functions == 4 ? 1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    const Corners at = corners_of(x, i);
    for (int c = 0; c < 8; ++c)
      if (at.row[c] >= 0) x.d_density[at.row[c]] += at.weight[c] * x.d_raw[i];
    if (functions == 0) continue;
    float basis[9];
    sh_basis(degree, x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int64_t k = 0; k < 3; ++k) {
      const float rgb = x.rgb[k * n + i], g = x.d_rgb[k * n + i] * (rgb * (1 - rgb));
      for (int64_t b = 0; b < functions; ++b)
        for (int c = 0; c < 8; ++c)
          if (at.row[c] >= 0)
            x.d_coefficients[(at.row[c] * 3 + k) * functions + b] += at.weight[c] * (basis[b] * g);
    }
  }
}

KLAB_VARIANT(VoxelShBwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
