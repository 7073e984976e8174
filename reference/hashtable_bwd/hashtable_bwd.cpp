// The double reference of hashtable_bwd and the bound on a float variant's error.
//
// An entry receives K contributions weight·g on top of its initial value a. In whatever order they are added,
// each passes at most 3 multiplications and K additions, and a passes K additions; weights are off by the
// shift of table_axis.h. In units of u: (K + 3)·sum of weight·|g| + K·|a| + sum of shift·|g|.
#include "reference/hashtable_bwd/hashtable_bwd.h"

#include <cmath>
#include <vector>

#include "reference/generator.h"
#include "reference/hashtable_fwd/table_axis.h"

namespace klab {
namespace {

constexpr double kDenormal =
    0x1p-149 / 0x1p-24;  // absolute error of one rounding among denormals, in units of u

/// A feature of one entry, while its level is processed.
struct Sums {
  double contributions = 0;  // K
  double largest = 0;        // sum of weight·|g|
  double shifted = 0;        // sum of |g| times the error of the weight, in units of u
};

/// Scatters one point's gradient g[0..F) (g[f*stride]) into one level.
void scatter(const TableLevel& level, const HashtableShape& s, const TableAxis* axes, const double* g,
             int64_t stride, double* d_table, Sums* sums) {
  for (int k = 0; k < axes[2].count; ++k)
    for (int j = 0; j < axes[1].count; ++j)
      for (int i = 0; i < axes[0].count; ++i) {
        const int at[3] = {i, j, k};
        uint32_t corner[3] = {};
        double weight = 1, largest = 1, shift = 0;
        for (int d = 0; d < 3; ++d) {
          corner[d] = uint32_t(axes[d].first + at[d]);
          weight *= axes[d].weight[at[d]];
          largest *= axes[d].largest[at[d]];
          double slope = axes[d].shift;
          for (int e = 0; e < 3; ++e)
            if (e != d) slope *= axes[e].largest[at[e]];
          shift += slope;
        }
        const int64_t entry =
            int64_t(table_index(level, s.hash, corner[0], corner[1], corner[2])) * s.features;
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

void HashtableBwd::arrange(const Args<float>& x, Generator& random) {
  hashtable_arrange(x.shape, const_cast<float*>(x.positions), const_cast<float*>(x.scales),
                    const_cast<int64_t*>(x.sizes), random);
}

void HashtableBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  for (int64_t k = 0; k < s.entries * s.features; ++k) magnitude.d_table[k] = 0;
  int64_t offset = 0;
  for (int64_t l = 0; l < s.levels; ++l) {
    const TableLevel level = table_level(float(x.scales[l]), x.sizes[l], offset);
    offset += x.sizes[l];
    double* d_table = x.d_table + level.offset * s.features;
    double* bound = magnitude.d_table + level.offset * s.features;
    const int64_t values = int64_t(level.entries) * s.features;
    for (int64_t e = 0; e < values; ++e) bound[e] = std::abs(d_table[e]);
    std::vector<Sums> sums(static_cast<size_t>(values));
    for (int64_t i = 0; i < s.n; ++i) {
      TableAxis axes[3];
      for (int d = 0; d < 3; ++d) axes[d] = table_axis(x.positions[d * s.n + i], x.scales[l], s.blend);
      scatter(level, s, axes, x.d_features + l * s.features * s.n + i, s.n, d_table, sums.data());
    }
    for (int64_t e = 0; e < values; ++e) {
      const Sums& sum = sums[size_t(e)];
      const double k = sum.contributions, roundings = k > 0 ? k + 3 : 0;
      bound[e] = k * bound[e] + roundings * (sum.largest + k * kDenormal) + sum.shifted;
    }
  }
}

}  // namespace klab
