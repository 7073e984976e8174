// One Gaussian's projection with running errors, shared by gs_project_fwd and gs_project_bwd.
#pragma once

#include <array>

#include "reference/gs_project_fwd/gs_project_fwd.h"
#include "reference/running_error.h"

namespace klab {

struct Projection {
  using Real = RunningError;
  bool culled = false;
  std::array<Real, 9> W, R, M;
  std::array<Real, 4> q;  // of unit length
  std::array<Real, 3> scale;
  Real length;          // of the quaternion as given
  Real x, y, z, u, v;   // u = x/z, v = y/z
  Real held_u, held_v;  // clamped at the border
  bool u_is_held = false, v_is_held = false;
  std::array<Real, 3> row0, row1;    // of J·W
  std::array<Real, 3> axis0, axis1;  // M^T of them
  Real var_x, cov, var_y, determinant;
};

/// Projects Gaussian i; arrays as in GsProjectFwd::Args<double>.
inline Projection project(const GsProjectFwd::Shape& s, const double* camera, const double* position,
                          const double* log_scale, const double* quaternion, int64_t i) {
  using Real = RunningError;
  using C = GsProjectFwd::Camera;
  Projection g;
  for (size_t k = 0; k < 9; ++k) g.W[k] = camera[C::rotation + int(k)];
  const int64_t n = s.n;
  const Real px = position[i], py = position[n + i], pz = position[2 * n + i];
  const auto along = [&](size_t row) {
    return g.W[3 * row] * px + g.W[3 * row + 1] * py + g.W[3 * row + 2] * pz +
           Real(camera[C::translation + int(row)]);
  };
  g.x = along(0), g.y = along(1), g.z = along(2);
  g.culled = !(g.z.value > camera[C::near]);
  if (g.culled) return g;

  const Real a = quaternion[i], b = quaternion[n + i], c = quaternion[2 * n + i], d = quaternion[3 * n + i];
  g.length = sqrt(a * a + b * b + c * c + d * d);
  g.q = {a / g.length, b / g.length, c / g.length, d / g.length};
  const auto& [w, qx, qy, qz] = g.q;
  const Real one = 1, two = 2;
  g.R = {one - two * (qy * qy + qz * qz), two * (qx * qy - w * qz),        two * (qx * qz + w * qy),
         two * (qx * qy + w * qz),        one - two * (qx * qx + qz * qz), two * (qy * qz - w * qx),
         two * (qx * qz - w * qy),        two * (qy * qz + w * qx),        one - two * (qx * qx + qy * qy)};
  for (size_t k = 0; k < 3; ++k) g.scale[k] = exp(Real(log_scale[int64_t(k) * n + i]));
  for (size_t k = 0; k < 9; ++k) g.M[k] = g.R[k] * g.scale[k % 3];

  const auto held = [](Real value, double side, double focal, bool& is_held) {
    const Real most = rounded(GsProjectFwd::border) * Real(side) / (Real(2) * Real(focal));
    is_held = std::abs(value.value) > most.value;
    return !is_held ? value : value.value > 0 ? most : -most;
  };
  g.u = g.x / g.z, g.v = g.y / g.z;
  g.held_u = held(g.u, double(s.width), camera[C::fx], g.u_is_held);
  g.held_v = held(g.v, double(s.height), camera[C::fy], g.v_is_held);
  const Real across = Real(camera[C::fx]) / g.z, down = Real(camera[C::fy]) / g.z;
  for (size_t k = 0; k < 3; ++k) {
    g.row0[k] = across * (g.W[k] - g.held_u * g.W[6 + k]);
    g.row1[k] = down * (g.W[3 + k] - g.held_v * g.W[6 + k]);
  }
  for (size_t k = 0; k < 3; ++k) {
    g.axis0[k] = g.M[k] * g.row0[0] + g.M[3 + k] * g.row0[1] + g.M[6 + k] * g.row0[2];
    g.axis1[k] = g.M[k] * g.row1[0] + g.M[3 + k] * g.row1[1] + g.M[6 + k] * g.row1[2];
  }
  const auto product = [](const std::array<Real, 3>& l, const std::array<Real, 3>& r) {
    return l[0] * r[0] + l[1] * r[1] + l[2] * r[2];
  };
  const Real blur = rounded(GsProjectFwd::low_pass);
  g.var_x = product(g.axis0, g.axis0) + blur;
  g.cov = product(g.axis0, g.axis1);
  g.var_y = product(g.axis1, g.axis1) + blur;
  g.determinant = g.var_x * g.var_y - g.cov * g.cov;
  return g;
}

/// 1/(1 + exp(-raw)).
inline RunningError logistic(double raw) {
  return RunningError(1) / (RunningError(1) + exp(RunningError(-raw)));
}

}  // namespace klab
