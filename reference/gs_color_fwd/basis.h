// The real spherical harmonics up to degree 3 as sums of monomials, for values and derivatives in any arithmetic.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace klab {

/// factor · x^px · y^py · z^pz, a term of basis function `output`. Order and signs are those of splatting
/// files, with Condon and Shortley's phase: (y, z, x) in the first degree.
struct HarmonicTerm {
  int output;
  double factor;
  int px, py, pz;
};

inline std::span<const HarmonicTerm> harmonic_terms() {
  const auto root = [](double a, double b) { return std::sqrt(a / (b * std::numbers::pi)); };
  static const std::array<HarmonicTerm, 28> terms = {{
      {0, root(1, 4), 0, 0, 0},         {1, -root(3, 4), 0, 1, 0},       {2, root(3, 4), 0, 0, 1},
      {3, -root(3, 4), 1, 0, 0},        {4, root(15, 4), 1, 1, 0},       {5, -root(15, 4), 0, 1, 1},
      {6, 2 * root(5, 16), 0, 0, 2},    {6, -root(5, 16), 2, 0, 0},      {6, -root(5, 16), 0, 2, 0},
      {7, -root(15, 4), 1, 0, 1},       {8, root(15, 16), 2, 0, 0},      {8, -root(15, 16), 0, 2, 0},
      {9, -3 * root(35, 32), 2, 1, 0},  {9, root(35, 32), 0, 3, 0},      {10, root(105, 4), 1, 1, 1},
      {11, -4 * root(21, 32), 0, 1, 2}, {11, root(21, 32), 2, 1, 0},     {11, root(21, 32), 0, 3, 0},
      {12, 2 * root(7, 16), 0, 0, 3},   {12, -3 * root(7, 16), 2, 0, 1}, {12, -3 * root(7, 16), 0, 2, 1},
      {13, -4 * root(21, 32), 1, 0, 2}, {13, root(21, 32), 3, 0, 0},     {13, root(21, 32), 1, 2, 0},
      {14, root(105, 16), 2, 0, 1},     {14, -root(105, 16), 0, 2, 1},   {15, -root(35, 32), 3, 0, 0},
      {15, 3 * root(35, 32), 1, 2, 0},
  }};
  return terms;
}

}  // namespace klab
