// A grid over the cube of side 2^K whose cells grow with their distance from the middle: as fine in the unit
// cube as a grid of half as many cells over it alone, and coarser in each shell around it, as the cascades of
// ray_march are. Unlike those it is one grid: a cell's neighbor is the next cell everywhere, and values
// interpolated between vertices have no seams.
//
// Along each axis s, the distance from the middle in the grid (0 to 1/2), belongs to y, that in space (0 to
// 2^(K-1)):
//
//   the unit cube     s in [0, 1/4]                                 y = 2·s
//   shell j of K      s from 1/2 - 2^-(j+1), a half of the rest,       y from 2^(j-2) to 2^(j-1)
//                     the last shell all of it
//
//   K = 2     |  shell 2   | shell 1 |        unit cube        | shell 1 |  shell 2   |
//      s     1/2          3/8       1/4           0           1/4       3/8          1/2
//      y      2            1        1/2           0           1/2        1            2
//
// y is linear in s between these, with slopes that are powers of two: planes between cells are exact. For K
// below 2 all cells are of one size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace klab {

struct GradedGrid {
  int shells = 0;  // K, at most 15; below 2: cells of one size

  /// For a cube of this side, a power of two; `graded` 0: cells of one size.
  static GradedGrid of(double side, bool graded) { return {graded ? std::ilogb(side) : 0}; }
  bool even() const { return shells < 2; }

  /// y of plane k, 0 to cells, a power of two. Not for even grids.
  template <class Real>
  Real plane(int32_t k, int32_t cells) const {
    const int32_t m = std::abs(2 * k - cells);  // twice s, in cells
    Real y = Real(m) / Real(cells);
    if (2 * m > cells) {
      const int32_t outside = cells - m;  // the rest, likewise
      int j = 1;
      while (j < shells && (outside << (j + 1)) <= cells) ++j;
      y = begin<Real>(j) + (left<Real>(j) - Real(0.5) * Real(outside) / Real(cells)) * slope<Real>(j);
    }
    return 2 * k < cells ? -y : y;
  }

  /// Where in the grid y is, 0 to 1. Not for even grids.
  template <class Real>
  Real place(Real y) const {
    const Real away = std::abs(y);
    Real s = Real(0.5) * away;
    if (away > Real(0.5)) {
      int j = 1;
      while (j < shells && away > 2 * begin<Real>(j)) ++j;
      s = Real(0.5) - left<Real>(j) + (away - begin<Real>(j)) / slope<Real>(j);
    }
    return std::clamp(Real(0.5) + std::copysign(s, y), Real(0), Real(1));
  }

 private:
  template <class Real>
  static Real begin(int shell) {
    return Real(0.25) * Real(1 << shell);
  }
  /// Returns 1/2 - s for the s at which a shell begins.
  template <class Real>
  static Real left(int shell) {
    return Real(0.5) / Real(1 << shell);
  }
  template <class Real>
  Real slope(int shell) const {
    return Real(1 << (shell < shells ? 2 * shell : 2 * shell - 1));
  }
};

}  // namespace klab
