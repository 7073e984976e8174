// The double reference of hashgrid_bwd and the bound on a float variant's error.
//
// An entry receives K contributions weight*g, K counted here, on top of its initial value a.
//
// 1. Rounding. A contribution passes at most dim multiplications; in whatever order they are added, alone or
// in partial
//    sums, each passes at most K additions, and so does a (u is the unit roundoff):
//        u * ((K + dim) * sum of weight*|g|  +  K*|a|).
// 2. Rounding of the position, as in hashgrid_fwd.cpp: it is off by at most e_d = 2*u*p_d along axis d, a
// weight is a
//    product of hat functions of slope 1, so it is off by at most the sum over d of e_d times the other axes'
//    weights. Within e of a cell's border float may choose the neighboring cell, whose outer corner then
//    receives that little and this cell's outer corner nothing: all corners that any position within e can
//    use count as contributions.
//
// Weights are taken as hat + e, their maximum at any position within e.
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/generator.h"
#include "reference/hashgrid_fwd/positions.h"

namespace klab {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kDenormal =
    0x1p-149 / kUnit;  // absolute error of one rounding among denormals, in units of u

/// A feature of one entry, while its level is processed.
struct Sums {
  double contributions = 0;  // K
  double largest = 0;        // sum of weight*|g|
  double shifted = 0;        // sum of |g| times the error of the weight, in units of u
};

/// One axis of one point: the grid lines that are used by any position within the rounding error.
struct Axis {
  int64_t first = 0;
  int count = 2;        // 2, or 3 near a border
  double weight[3]{};   // of the exact position
  double largest[3]{};  // within the rounding error
  double shift = 0;     // rounding error of the position, in units of u
};

Axis axis_of(double x, float scale) {
  Axis a;
  const double p = x * double(scale) + 0.5;
  a.shift = 2 * p;
  const double e = kUnit * a.shift;
  a.first = int64_t(std::floor(p - e));
  a.count = int(int64_t(std::floor(p + e)) - a.first) + 2;
  for (int k = 0; k < a.count; ++k) {
    a.weight[k] = std::max(0.0, 1 - std::abs(p - double(a.first + k)));
    a.largest[k] = std::min(1.0, a.weight[k] + e);
  }
  return a;
}

/// Scatters one point's gradient g[0..F) (g[f*stride]) into one level.
void scatter(const HashgridLevel& level, const HashgridShape& s, const Axis* axes, const double* g,
             int64_t stride, double* d_table, Sums* sums) {
  const int planes = s.dim == 3 ? axes[2].count : 1;
  for (int k = 0; k < planes; ++k)
    for (int j = 0; j < axes[1].count; ++j)
      for (int i = 0; i < axes[0].count; ++i) {
        const int at[3] = {i, j, k};
        int64_t corner[3] = {};
        double weight = 1;
        double largest = 1;
        double shift = 0;
        for (int64_t d = 0; d < s.dim; ++d) {
          corner[d] = axes[d].first + at[d];
          weight *= axes[d].weight[at[d]];
          largest *= axes[d].largest[at[d]];
          double slope = axes[d].shift;
          for (int64_t e = 0; e < s.dim; ++e)
            if (e != d) slope *= axes[e].largest[at[e]];
          shift += slope;
        }
        const int64_t entry = hashgrid_index(level, s.dim, corner) * s.features;
        for (int64_t f = 0; f < s.features; ++f) {
          d_table[entry + f] += weight * g[f * stride];
          Sums& sum = sums[entry + f];
          sum.contributions += 1;
          sum.largest += largest * std::abs(g[f * stride]);
          sum.shifted += shift * std::abs(g[f * stride]);
        }
      }
}

}  // namespace

void HashgridBwd::arrange(const Args<float>& x, Generator& random) {
  hashgrid_positions(x.shape, const_cast<float*>(x.positions), random);
}

void HashgridBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const auto levels = hashgrid_levels(s);
  for (int64_t l = 0; l < s.levels; ++l) {
    const HashgridLevel& level = levels[size_t(l)];
    const int64_t values = level.entries * s.features;
    double* d_table = x.d_table + level.offset * s.features;
    double* bound = magnitude.d_table + level.offset * s.features;
    for (int64_t e = 0; e < values; ++e) bound[e] = std::abs(d_table[e]);
    std::vector<Sums> sums(static_cast<size_t>(values));
    for (int64_t i = 0; i < s.n; ++i) {
      Axis axes[3];
      for (int64_t d = 0; d < s.dim; ++d) axes[d] = axis_of(x.positions[d * s.n + i], level.scale);
      scatter(level, s, axes, x.d_features + l * s.features * s.n + i, s.n, d_table, sums.data());
    }
    for (int64_t e = 0; e < values; ++e) {
      const Sums& sum = sums[size_t(e)];
      const double k = sum.contributions;
      const double roundings = k > 0 ? k + double(s.dim) : 0;
      bound[e] = k * bound[e] + roundings * (sum.largest + k * kDenormal) + sum.shifted;
    }
  }
}

}  // namespace klab
