// The double reference of voxel_sh_bwd and the bound on a float variant's error.
//
// A number of a row receives K terms, on top of its initial value a. Each term has a running error of its
// own. In whatever order they are added, alone or in partial sums, each passes at most K additions, and so
// does a:
//   sum of the terms' errors + K·(sum of |term| + |a|),   in units of u.
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

#include <vector>

#include "reference/generator.h"
#include "reference/voxel_sh_fwd/corners.h"

namespace klab {
namespace {

struct Sums {
  double error = 0, size = 0, count = 0;
  void add(RunningError term, double& to) {
    to += term.value;
    error += term.error;
    size += std::abs(term.value);
    count += 1;
  }
  double bound(double begun) const { return error + count * (size + std::abs(begun)); }
};

}  // namespace

void VoxelShBwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  VoxelShFwd::Args<float> forward{};
  forward.shape = s;
  forward.positions = x.positions;
  forward.directions = x.directions;
  forward.links = x.links;
  forward.empty = x.empty;
  VoxelShFwd::arrange(forward, random);
  for (int64_t i = 0; s.colors() > 0 && i < s.n; ++i) {
    const VoxelPoint p = voxel_point(s, x.positions, x.directions, x.links, i);
    for (int64_t k = 0; k < 3; ++k)
      const_cast<float*>(x.rgb)[k * s.n + i] =
          float(voxel_logistic(voxel_color(s, p, x.coefficients, k).value));
  }
}

void VoxelShBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const std::vector<double> density(x.d_density, x.d_density + s.rows),
      coefficients(x.d_coefficients, x.d_coefficients + s.rows * 3 * s.basis);
  std::vector<Sums> of_density(density.size()), of_coefficients(coefficients.size());
  for (int64_t i = 0; i < s.n; ++i) {
    const VoxelPoint p = voxel_point(s, x.positions, x.directions, x.links, i);
    for (size_t c = 0; c < 8; ++c) {
      const int64_t row = p.row[c];
      if (row < 0) continue;
      of_density[size_t(row)].add(p.weight[c] * RunningError(x.d_raw[i]), x.d_density[row]);
      for (int64_t k = 0; k < s.colors(); ++k) {
        const RunningError rgb = x.rgb[k * s.n + i];
        const RunningError g = RunningError(x.d_rgb[k * s.n + i]) * (rgb * (RunningError(1) - rgb));
        for (int64_t b = 0; b < s.basis; ++b) {
          const int64_t at = (row * 3 + k) * s.basis + b;
          of_coefficients[size_t(at)].add(p.weight[c] * (p.basis[size_t(b)] * g), x.d_coefficients[at]);
        }
      }
    }
  }
  for (size_t r = 0; r < density.size(); ++r) magnitude.d_density[r] = of_density[r].bound(density[r]);
  for (size_t r = 0; r < coefficients.size(); ++r)
    magnitude.d_coefficients[r] = of_coefficients[r].bound(coefficients[r]);
}

}  // namespace klab
