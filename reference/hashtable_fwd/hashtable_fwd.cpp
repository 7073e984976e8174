// The double reference of hashtable_fwd. The bound on a float variant's error: roundings of the sum, (8 + 3)·u·sum of
// weight·|t|, and of the position (table_axis.h).
#include "reference/hashtable_fwd/hashtable_fwd.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_fwd/table_axis.h"

namespace klab {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kDenormal =
    0x1p-149 / kUnit;  // absolute error of one rounding among denormals, in units of u
constexpr double kRoundings = 8 + 3;

/// Evaluates one level at one point and adds its features to value[] and bound[].
void level_at(const TableLevel& level, const HashtableShape& s, const TableAxis* axes, const double* table,
              double* value, double* bound) {
  const auto entry = [&](const int64_t* c) {
    return table +
           int64_t(table_index(level, s.hash, uint32_t(c[0]), uint32_t(c[1]), uint32_t(c[2]))) * s.features;
  };
  for (int k = 0; k < axes[2].count; ++k)
    for (int j = 0; j < axes[1].count; ++j)
      for (int i = 0; i < axes[0].count; ++i) {
        const int at[3] = {i, j, k};
        int64_t corner[3] = {};
        double weight = 1, largest = 1;
        for (int d = 0; d < 3; ++d) {
          corner[d] = axes[d].first + at[d];
          weight *= axes[d].weight[at[d]];
          largest *= axes[d].largest[at[d]];
        }
        const double* t = entry(corner);
        for (int64_t f = 0; f < s.features; ++f) {
          value[f] += weight * t[f];
          bound[f] += kRoundings * (largest * std::abs(t[f]) + kDenormal);
        }
        for (int d = 0; d < 3; ++d) {
          if (at[d] + 1 >= axes[d].count) continue;
          double edge = axes[d].shift;
          for (int e = 0; e < 3; ++e)
            if (e != d) edge *= axes[e].largest[at[e]];
          ++corner[d];
          const double* next = entry(corner);
          --corner[d];
          for (int64_t f = 0; f < s.features; ++f) bound[f] += edge * std::abs(next[f] - t[f]);
        }
      }
}

/// Cuts a number of entries into sizes of levels, multiples of 8 from 8 on.
void cut(const HashtableShape& s, int64_t* sizes, Generator& random) {
  int64_t left = s.entries / 8;
  for (int64_t l = 0; l < s.levels; ++l) {
    const int64_t others = s.levels - 1 - l;
    const int64_t most = left - others, even = left / (others + 1);
    const int64_t some = random.widely ? 1 + int64_t(random() % uint64_t(most)) : std::min(even, most);
    sizes[l] = 8 * some;
    left -= some;
  }
}

}  // namespace

bool hashtable_valid(const HashtableShape& s) {
  const bool features = s.features == 1 || s.features == 2 || s.features == 4 || s.features == 8;
  return s.n >= 0 && s.levels >= 1 && s.levels <= 32 && features && s.entries % 8 == 0 &&
         s.entries >= 8 * s.levels && s.entries <= int64_t(1) << 28 && s.hash >= 0 &&
         s.hash < table_hash::count && s.blend >= 0 && s.blend < table_blend::count &&
         (s.coherent == 0 || s.coherent == 1);
}

Cost hashtable_cost(const HashtableShape& s, double table_passes) {
  const double points = double(s.n), outputs = points * double(s.levels * s.features);
  const bool nearest = s.blend == table_blend::nearest;
  const double entry_bytes = 4 * double(s.features), level = double(s.entries) / double(s.levels);
  // Random lines, as in hashgrid_fwd: two corners along x share a line, except for the share of a line that
  // an entry takes. That holds for functions that keep neighbors together; pcg does not, but a lower bound
  // holds for all.
  const double lines = double(s.levels) * (nearest ? 1 : 4 * (1 + entry_bytes / 64));
  const double touched = double(s.levels) * std::min(level, points * (nearest ? 1 : 8)) * double(s.features);
  const double axis = s.blend == table_blend::smoothstep ? 8 : 4;
  return {.bytes = 4 * (3 * points + outputs + table_passes * touched),
          .flops = points * double(s.levels) * 3 * axis + (nearest ? 0 : outputs * 3 * 7),
          .gathers = points * lines,
          .entry_bytes = s.features == 1 ? 4.0 : 8.0,
          .tables = {{.bytes = entry_bytes * level, .count = double(s.levels)}},
          .table_bytes = 4 * table_passes * touched};
}

void hashtable_arrange(const HashtableShape& s, float* positions, float* scales, int64_t* sizes,
                       Generator& random) {
  cut(s, sizes, random);
  for (int64_t l = 0; l < s.levels; ++l) {
    const double share = s.levels > 1 ? double(l) / double(s.levels - 1) : 1;
    scales[l] = random.widely ? float(std::exp2(double(random() % 12000) / 1000.0) - 1)
                              : float(16 * std::pow(32.0, share) - 1);
  }
  const HashgridShape like = {.n = s.n,
                              .dim = 3,
                              .levels = 1,
                              .features = 1,
                              .log2_table = 4,
                              .base = 2,
                              .finest = 2,
                              .coherent = s.coherent};
  if (!random.widely) {
    if (s.coherent == 1) hashgrid_march(like, positions, random);
    return;
  }
  if (random() % 2) hashgrid_march(like, positions, random);
  const bool one_place = random() % 8 == 0;
  for (int64_t k = 0; k < 3 * s.n; ++k) {
    if (one_place && k % s.n > 0) positions[k] = positions[k - k % s.n];
    if (!one_place && random() % 8 == 0) positions[k] = random() % 2 ? 1.0F : 0.0F;
  }
}

void HashtableFwd::arrange(const Args<float>& x, Generator& random) {
  hashtable_arrange(x.shape, const_cast<float*>(x.positions), const_cast<float*>(x.scales),
                    const_cast<int64_t*>(x.sizes), random);
}

void HashtableFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  int64_t offset = 0;
  for (int64_t l = 0; l < s.levels; ++l) {
    const TableLevel level = table_level(float(x.scales[l]), x.sizes[l], offset);
    offset += x.sizes[l];
    const double* table = x.table + level.offset * s.features;
    for (int64_t i = 0; i < s.n; ++i) {
      TableAxis axes[3];
      for (int d = 0; d < 3; ++d) axes[d] = table_axis(x.positions[d * s.n + i], x.scales[l], s.blend);
      double value[8] = {}, bound[8] = {};
      level_at(level, s, axes, table, value, bound);
      for (int64_t f = 0; f < s.features; ++f) {
        x.features[(l * s.features + f) * s.n + i] = value[f];
        magnitude.features[(l * s.features + f) * s.n + i] = bound[f];
      }
    }
  }
}

}  // namespace klab
