// One point of a grid of voxels, with running errors, shared by voxel_sh_fwd and voxel_sh_bwd.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "reference/running_error.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {

struct VoxelPoint {
  std::array<int64_t, 8> row;  // -1: none
  std::array<RunningError, 8> weight;
  std::array<RunningError, 9> basis;  // those of the shape; the rest 0
};

/// The nine harmonics below degree 3 in any arithmetic.
template <class Real>
std::array<Real, 9> voxel_harmonics(Real x, Real y, Real z, auto&& constant) {
  const auto root = [&](double a, double b) { return constant(std::sqrt(a / (b * std::numbers::pi))); };
  return {root(1, 4),
          -(root(3, 4) * y),
          root(3, 4) * z,
          -(root(3, 4) * x),
          root(15, 4) * x * y,
          -(root(15, 4) * y * z),
          root(5, 16) * (Real(2) * z * z - x * x - y * y),
          -(root(15, 4) * x * z),
          root(15, 16) * (x * x - y * y)};
}

/// `directions` may be null where the shape has no colors.
template <class T>
VoxelPoint voxel_point(const VoxelShFwd::Shape& s, const T* positions, const T* directions,
                       const int32_t* links, int64_t i) {
  VoxelPoint p;
  std::array<int64_t, 3> cell;
  std::array<double, 3> fraction;
  for (size_t axis = 0; axis < 3; ++axis) {
    const double at = double(positions[int64_t(axis) * s.n + i]) * double(s.grid);  // exact, as its parts are
    cell[axis] = std::min(int64_t(at), s.grid - 1);
    fraction[axis] = at - double(cell[axis]);
  }
  for (size_t c = 0; c < 8; ++c) {
    std::array<int64_t, 3> at{};
    RunningError weight = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      const bool upper = (c >> axis & 1) != 0;
      at[axis] = cell[axis] + upper;
      weight =
          weight * (upper ? RunningError(fraction[axis]) : RunningError(1) - RunningError(fraction[axis]));
    }
    p.weight[c] = weight;
    p.row[c] = links[(at[2] * (s.grid + 1) + at[1]) * (s.grid + 1) + at[0]];
  }
  if (s.basis == 0) return p;
  const auto d = [&](int64_t axis) { return RunningError(double(directions[axis * s.n + i])); };
  p.basis = voxel_harmonics<RunningError>(d(0), d(1), d(2), [](double v) { return rounded(v); });
  for (int64_t b = s.basis; b < 9; ++b) p.basis[size_t(b)] = 0;
  return p;
}

/// Applies the logistic function to color k.
template <class T>
RunningError voxel_color(const VoxelShFwd::Shape& s, const VoxelPoint& p, const T* coefficients, int64_t k) {
  RunningError sum = 0;
  for (int64_t b = 0; b < s.basis; ++b) {
    RunningError coefficient = 0;
    for (size_t c = 0; c < 8; ++c)
      if (p.row[c] >= 0)
        coefficient += p.weight[c] * RunningError(double(coefficients[(p.row[c] * 3 + k) * s.basis + b]));
    sum += p.basis[size_t(b)] * coefficient;
  }
  return sum;
}

inline double voxel_logistic(double v) { return 1 / (1 + std::exp(-v)); }

}  // namespace klab
