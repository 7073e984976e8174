// voxel_sh_narrow_fwd.cpu.01_naive: a point, its harmonics, one number after the other.
//
// CHANGE    the definition: eight corners for each number of a row, each widened as it is read.
// EXPECT    the loads of voxel_sh_fwd's first rung, with a conversion for each.
// NUMERICS  float, sums in the order of the corners; a factor behind the sum.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"

namespace klab {
namespace {

void run(const VoxelShNarrowFwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.basis, format = x.shape.format;
  for (int64_t i = 0; i < n; ++i) {
    const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
    float raw = 0;
    for (int c = 0; c < 8; ++c)
      raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : float_from_half(x.density[at.row[c]]));
    x.raw[i] = raw;
    if (functions == 0) continue;
    float basis[9];
    sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int64_t k = 0; k < 3; ++k) {
      float sum = 0;
      for (int64_t b = 0; b < functions; ++b) {
        const int64_t number = k * functions + b;
        float coefficient = 0;
        for (int c = 0; c < 8; ++c)
          if (at.row[c] >= 0)
            coefficient +=
                at.weight[c] * narrow_number(format, x.halves, x.bytes, at.row[c] * 3 * functions + number);
        if (format == narrow_format::int8) coefficient *= x.factors[number];
        sum += basis[b] * coefficient;
      }
      x.rgb[k * n + i] = 1 / (1 + std::exp(-sum));
    }
  }
}

KLAB_VARIANT(VoxelShNarrowFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
