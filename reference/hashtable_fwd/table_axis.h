// One axis of one point in the double references of hashtable_fwd and hashtable_bwd, with the error bound of
// a float variant.
//
// Float computes p = x·scale + 0.5 with two roundings, so it is off by at most e = 2·u·p, which may lead into
// the neighboring cell: lists the grid lines of any position within e. A weight is off by at most `shift`·u:
//
//   linear      2p: the hat function has slope 1, and the fraction p - floor(p) is exact
//   smoothstep  3p + 4: s has a slope of at most 3/2; f² and 3 - 2f round once each, their product once, 1 - s once
//   nearest     nothing, or all of it where p is within e of a cell's border
//
// It changes a sum of weight·t by at most shift·u times the difference between the two ends of the cell,
// weighted over the other axes; hashgrid_fwd.cpp has the argument.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/hashtable_fwd/table_layout.h"

namespace klab {

struct TableAxis {
  int64_t first = 0;    // grid line
  int count = 2;        // of lines; 2, or 3 near a border; 1 or 2 of the nearest
  double weight[3]{};   // of the exact position
  double largest[3]{};  // within the rounding error
  double shift = 0;     // of a weight, in units of u
};

inline TableAxis table_axis(double x, double scale, int64_t blend) {
  constexpr double kUnit = 0x1p-24;
  TableAxis a;
  const double p = x * scale + 0.5, e = kUnit * 2 * p;
  const double below = std::floor(p - e), above = std::floor(p + e);
  a.first = int64_t(below);
  if (blend == table_blend::nearest) {
    a.count = int(above - below) + 1;
    for (int k = 0; k < a.count; ++k) {
      a.weight[k] = below + k == std::floor(p) ? 1 : 0;
      a.largest[k] = 1;
    }
    a.shift = a.count > 1 ? 1 / kUnit : 0;
    return a;
  }
  const bool smooth = blend == table_blend::smoothstep;
  a.count = int(above - below) + 2;
  a.shift = smooth ? 3 * p + 4 : 2 * p;
  for (int k = 0; k < a.count; ++k) {
    const double hat = std::max(0.0, 1 - std::abs(p - (below + k)));
    a.weight[k] = smooth ? hat * hat * (3 - 2 * hat) : hat;
    a.largest[k] = std::min(1.0, a.weight[k] + kUnit * a.shift);
  }
  return a;
}

}  // namespace klab
