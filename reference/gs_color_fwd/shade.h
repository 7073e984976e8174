// The color of one Gaussian with running errors, shared by gs_color_fwd and gs_color_bwd.
#pragma once

#include "reference/gs_color_fwd/basis.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"
#include "reference/running_error.h"

namespace klab {

struct Shade {
  std::array<RunningError, 3> view;  // of unit length
  RunningError distance;
  std::array<RunningError, 16> basis;
  std::array<std::array<RunningError, 3>, 16> slope;  // of the basis, with respect to the view
  std::array<RunningError, 3> sum;                    // 0.5 and the products, not cut
};

inline Shade shade(const GsColorFwd::Shape& s, const double* eye, const double* position,
                   const double* coefficients, int64_t i) {
  using Real = RunningError;
  Shade out;
  for (size_t k = 0; k < 3; ++k) out.view[k] = Real(position[int64_t(k) * s.n + i]) - Real(eye[k]);
  out.distance = sqrt(out.view[0] * out.view[0] + out.view[1] * out.view[1] + out.view[2] * out.view[2]);
  for (Real& v : out.view) v = v / out.distance;
  const auto power = [](Real v, int by) {
    Real p = 1;
    for (; by > 0; --by) p = p * v;
    return p;
  };
  for (const HarmonicTerm& t : harmonic_terms()) {
    if (t.output >= s.functions()) continue;
    const auto at = size_t(t.output);
    const std::array<int, 3> powers = {t.px, t.py, t.pz};
    const auto value = [&](int axis) {  // -1: the term itself, else its derivative
      Real v = rounded(t.factor);
      for (size_t k = 0; k < 3; ++k)
        v = v * (int(k) == axis ? Real(powers[k]) * power(out.view[k], powers[k] - 1)
                                : power(out.view[k], powers[k]));
      return v;
    };
    out.basis[at] += value(-1);
    for (int axis = 0; axis < 3; ++axis)
      if (powers[size_t(axis)] > 0) out.slope[at][size_t(axis)] += value(axis);
  }
  for (size_t c = 0; c < 3; ++c) {
    out.sum[c] = 0.5;
    for (int64_t k = 0; k < s.functions(); ++k)
      out.sum[c] += out.basis[size_t(k)] * Real(coefficients[(3 * k + int64_t(c)) * s.n + i]);
  }
  return out;
}

}  // namespace klab
