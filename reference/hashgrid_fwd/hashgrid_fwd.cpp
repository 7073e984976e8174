// The double reference of hashgrid_fwd and the bound on a float variant's error.
//
// The bound has two parts; u is the unit roundoff, t the table's values.
//
// 1. Rounding of the sum. With the fraction f exact (it is: p < 2^21 and f = p - floor(p) needs no more bits
// than p,
//    nor does 1 - f, as p >= 1/2), a term of the sum passes at most dim multiplications and 2^dim additions:
//        (2^dim + dim) * u * sum of weight*|t|.
//    Interpolating axis after axis rounds less often. Interpolating as a + f*(b - a) would not obey this
//    bound.
//
// 2. Rounding of the position. Float computes x*scale + 0.5 with two roundings (one with a fused
// multiply-add), each
//    at most u*p: the position is off by e = 2*u*p. On the finest level that is 4000 u, far more than part 1.
//    The interpolation is continuous and piecewise linear along an axis, so the result is off by at most
//    e times the slope, which is the difference between the cell's two ends, weighted over the other axes:
//        sum over axes d of  2*u*p_d * sum over the cell's edges along d of  (weight of the edge)*|t_end -
//        t_begin|.
//    Near a border float may find itself in the neighboring cell. That costs no more: the same sentence
//    holds with the edges of both cells, so both are summed whenever p - e and p + e are in different cells.
//
// Weights are taken as hat + e: their maximum at any position within e.
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reference/float16.h"
#include "reference/generator.h"
#include "reference/hashgrid_fwd/positions.h"

namespace klab {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kDenormal =
    0x1p-149 / kUnit;  // absolute error of one rounding among denormals, in units of u

/// One axis of one point: the grid lines that are used by any position within the rounding error.
struct Axis {
  int64_t first = 0;    // grid line
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

/// Evaluates one level at one point and adds its features to value[] and bound[].
void level_at(const HashgridLevel& level, const HashgridShape& s, const Axis* axes, const double* table,
              double* value, double* bound) {
  const double roundings = double((int64_t(1) << s.dim) + s.dim);
  const int planes = s.dim == 3 ? axes[2].count : 1;
  for (int k = 0; k < planes; ++k)
    for (int j = 0; j < axes[1].count; ++j)
      for (int i = 0; i < axes[0].count; ++i) {
        const int at[3] = {i, j, k};
        int64_t corner[3] = {};
        double weight = 1;
        double largest = 1;
        for (int64_t d = 0; d < s.dim; ++d) {
          corner[d] = axes[d].first + at[d];
          weight *= axes[d].weight[at[d]];
          largest *= axes[d].largest[at[d]];
        }
        const double* t = table + hashgrid_index(level, s.dim, corner) * s.features;
        for (int64_t f = 0; f < s.features; ++f) {
          value[f] += weight * t[f];
          bound[f] += roundings * (largest * std::abs(t[f]) + kDenormal);
        }
        for (int64_t d = 0; d < s.dim; ++d) {
          if (at[d] + 1 >= axes[d].count) continue;
          double edge = axes[d].shift;
          for (int64_t e = 0; e < s.dim; ++e)
            if (e != d) edge *= axes[e].largest[at[e]];
          ++corner[d];
          const double* next = table + hashgrid_index(level, s.dim, corner) * s.features;
          --corner[d];
          for (int64_t f = 0; f < s.features; ++f) bound[f] += edge * std::abs(next[f] - t[f]);
        }
      }
}

}  // namespace

std::vector<HashgridLevel> hashgrid_levels(const HashgridShape& s) {
  return hashgrid_levels(s.dim, s.levels, s.log2_table, s.base, hashgrid_growth(s.levels, s.base, s.finest));
}

bool hashgrid_valid(const HashgridShape& s) {
  const bool features = s.features == 1 || s.features == 2 || s.features == 4 || s.features == 8;
  return s.n >= 0 && (s.dim == 2 || s.dim == 3) && s.levels >= 1 && s.levels <= 32 && features &&
         s.log2_table >= 1 && s.log2_table <= 28 && s.base >= 1 && s.finest >= s.base &&
         s.finest <= int64_t(1) << 20 && (s.coherent == 0 || s.coherent == 1);
}

Cost hashgrid_cost(const HashgridShape& s, double table_passes) {
  const auto levels = hashgrid_levels(s);
  // Random reads are lines, equally many in each level. Two corners along x share a line of 64 bytes, except
  // for the share of a line that an entry takes.
  const double entry_bytes = 4 * double(s.features);
  const double lines = double(s.levels) * double(int64_t(1) << (s.dim - 1)) * (1 + entry_bytes / 64);
  double touched = 0;
  std::vector<TableShare> tables;
  for (const HashgridLevel& level : levels) {
    touched += double(std::min(level.entries, s.n << s.dim) * s.features);
    const double bytes = entry_bytes * double(level.entries), share = 1 / double(s.levels);
    if (!tables.empty() && tables.back().bytes == bytes) {
      tables.back().share += share;
      ++tables.back().count;
    } else {
      tables.push_back({bytes, share});
    }
  }

  const double points = double(s.n);
  const double outputs = points * double(s.levels * s.features);
  // A position: multiply, add, subtract, one minus, an axis. An output: three operations for each of 2^dim - 1
  // interpolations between two values.
  const double flops =
      points * double(s.levels * s.dim * 4) + outputs * 3 * double((int64_t(1) << s.dim) - 1);
  return {.bytes = 4 * (points * double(s.dim) + outputs + table_passes * touched),
          .flops = flops,
          .gathers = points * lines,
          .entry_bytes = s.features == 1 ? 4.0 : 8.0,
          .tables = std::move(tables),
          .table_bytes = 4 * table_passes * touched};
}

void hashgrid_march(const HashgridShape& s, float* positions, Generator& random) {
  constexpr int64_t kStretch = 64;
  const double step = std::sqrt(3.0) / 1024;
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal;
  double at[3] = {};
  double direction[3] = {};
  int64_t left = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    bool inside = left-- > 0;
    for (int64_t d = 0; d < s.dim; ++d) {
      at[d] += step * direction[d];
      inside = inside && at[d] >= 0 && at[d] < 1;
    }
    if (!inside) {
      double length = 0;
      for (int64_t d = 0; d < s.dim; ++d) {
        at[d] = uniform(random);
        direction[d] = normal(random);
        length += direction[d] * direction[d];
      }
      for (double& d : direction) d /= std::sqrt(std::max(length, 1e-12));
      left = kStretch - 1;
    }
    for (int64_t d = 0; d < s.dim; ++d) positions[d * s.n + i] = std::min(float(at[d]), 0x1.fffffep-1F);
  }
}

void hashgrid_positions(const HashgridShape& s, float* positions, Generator& random) {
  if (!random.widely) {
    if (s.coherent == 1) hashgrid_march(s, positions, random);
    return;
  }
  // Also in other orders than `coherent` asks for; on the borders of the cube, which belong to it; all in one
  // place.
  if (random() % 2) hashgrid_march(s, positions, random);
  const bool one_place = random() % 8 == 0;
  for (int64_t k = 0; k < s.dim * s.n; ++k) {
    if (one_place && k % s.n > 0) positions[k] = positions[k - k % s.n];
    if (!one_place && random() % 8 == 0) positions[k] = random() % 2 ? 1.0F : 0.0F;
  }
}

void HashgridFwd::arrange(const Args<float>& x, Generator& random) {
  auto* table = const_cast<float*>(x.table);
  auto* half = const_cast<uint16_t*>(x.table_half);
  hashgrid_positions(x.shape, const_cast<float*>(x.positions), random);
  const int64_t values = hashgrid_entries(hashgrid_levels(x.shape)) * x.shape.features;
  for (int64_t i = 0; i < values; ++i) {
    const float t = std::clamp(table[i], -65504.F, 65504.F);
    half[i] = half_from_float(t);
    if (t != 0 && (half[i] & 0x7FFFU) == 0) half[i] |= 1U;
    // Usually both tables hold the same numbers, so that rungs that read either one are held to the same
    // bound. Drawn widely they differ: a rung that declares to read floats must read them.
    table[i] = random.widely ? t : float_from_half(half[i]);
  }
}

void HashgridFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const auto levels = hashgrid_levels(s);
  for (int64_t l = 0; l < s.levels; ++l) {
    const HashgridLevel& level = levels[size_t(l)];
    const double* table = x.table + level.offset * s.features;
    for (int64_t i = 0; i < s.n; ++i) {
      Axis axes[3];
      for (int64_t d = 0; d < s.dim; ++d) axes[d] = axis_of(x.positions[d * s.n + i], level.scale);
      double value[8] = {};
      double bound[8] = {};
      level_at(level, s, axes, table, value, bound);
      for (int64_t f = 0; f < s.features; ++f) {
        x.features[(l * s.features + f) * s.n + i] = value[f];
        magnitude.features[(l * s.features + f) * s.n + i] = bound[f];
      }
    }
  }
}

}  // namespace klab
