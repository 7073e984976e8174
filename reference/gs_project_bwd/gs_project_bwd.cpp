#include "reference/gs_project_bwd/gs_project_bwd.h"

#include "reference/generator.h"
#include "reference/gs_project_fwd/projection.h"

namespace klab {
namespace {

using Real = RunningError;
using Vector = std::array<Real, 3>;

/// Converts the gradient of the rotation matrix to that of the unit quaternion.
std::array<Real, 4> through_rotation(const std::array<Real, 4>& q, const std::array<Real, 9>& d) {
  const auto& [w, x, y, z] = q;
  const Real two = 2;
  return {two * (z * (d[3] - d[1]) + y * (d[2] - d[6]) + x * (d[7] - d[5])),
          two * (y * (d[1] + d[3]) + z * (d[2] + d[6]) + w * (d[7] - d[5]) - two * x * (d[4] + d[8])),
          two * (x * (d[1] + d[3]) + z * (d[5] + d[7]) + w * (d[2] - d[6]) - two * y * (d[0] + d[8])),
          two * (x * (d[2] + d[6]) + y * (d[5] + d[7]) + w * (d[3] - d[1]) - two * z * (d[0] + d[4]))};
}

Vector times(const std::array<Real, 9>& m, const Vector& v) {
  return {m[0] * v[0] + m[1] * v[1] + m[2] * v[2], m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
          m[6] * v[0] + m[7] * v[1] + m[8] * v[2]};
}

}  // namespace

void GsProjectBwd::arrange(const Args<float>& x, Generator& random) {
  GsProjectFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.camera = x.camera;
  forward.position = x.position;
  forward.log_scale = x.log_scale;
  forward.quaternion = x.quaternion;
  forward.opacity_raw = x.opacity_raw;
  GsProjectFwd::arrange(forward, random);
}

void GsProjectBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using C = GsProjectFwd::Camera;
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) {
    const Projection g = project(x.shape, x.camera, x.position, x.log_scale, x.quaternion, i);
    Vector d_position{}, d_log_scale{};
    std::array<Real, 4> d_quaternion{};
    Real d_raw = 0;
    if (!g.culled) {
      // A gradient may be denormal: give it an error of a few of the smallest steps.
      const auto given = [](double v) { return Real(v, 0x1p-120); };
      const Real xx = g.var_y / g.determinant, xy = -g.cov / g.determinant, yy = g.var_x / g.determinant;
      const Real d_xx = given(x.d_conic[i]), d_xy = given(x.d_conic[n + i]),
                 d_yy = given(x.d_conic[2 * n + i]);
      const Real d_det = -(xx * d_xx + xy * d_xy + yy * d_yy) / g.determinant;
      const Real d_p = d_yy / g.determinant + g.var_y * d_det, d_r = d_xx / g.determinant + g.var_x * d_det;
      const Real d_q = -d_xy / g.determinant - Real(2) * g.cov * d_det;
      Vector d_axis0, d_axis1;
      for (size_t k = 0; k < 3; ++k) {
        d_axis0[k] = Real(2) * d_p * g.axis0[k] + d_q * g.axis1[k];
        d_axis1[k] = d_q * g.axis0[k] + Real(2) * d_r * g.axis1[k];
      }
      const Vector d_row0 = times(g.M, d_axis0), d_row1 = times(g.M, d_axis1);
      std::array<Real, 9> d_rotation;
      for (size_t row = 0; row < 3; ++row)
        for (size_t k = 0; k < 3; ++k) {
          const Real d_m = g.row0[row] * d_axis0[k] + g.row1[row] * d_axis1[k];
          d_log_scale[k] += d_m * g.M[3 * row + k];
          d_rotation[3 * row + k] = d_m * g.scale[k];
        }
      const std::array<Real, 4> d_unit = through_rotation(g.q, d_rotation);
      Real along = 0;
      for (size_t k = 0; k < 4; ++k) along += g.q[k] * d_unit[k];
      for (size_t k = 0; k < 4; ++k) d_quaternion[k] = (d_unit[k] - g.q[k] * along) / g.length;

      const auto side = [&](const Vector& d_row, size_t row, Real held, bool is_held, double focal,
                            double d_mean, Real direction, Real& d_z) {
        const Real per_z = Real(focal) / g.z;
        Real d_per_z = 0, d_held = 0;
        for (size_t k = 0; k < 3; ++k) {
          d_per_z += d_row[k] * (g.W[3 * row + k] - held * g.W[6 + k]);
          d_held -= per_z * d_row[k] * g.W[6 + k];
        }
        Real d_direction = Real(focal) * given(d_mean);
        if (!is_held) d_direction += d_held;
        d_z -= per_z / g.z * d_per_z + direction * d_direction / g.z;
        return d_direction / g.z;
      };
      Vector d_seen{};
      d_seen[0] = side(d_row0, 0, g.held_u, g.u_is_held, x.camera[C::fx], x.d_mean[i], g.u, d_seen[2]);
      d_seen[1] = side(d_row1, 1, g.held_v, g.v_is_held, x.camera[C::fy], x.d_mean[n + i], g.v, d_seen[2]);
      for (size_t k = 0; k < 3; ++k)
        d_position[k] = g.W[k] * d_seen[0] + g.W[3 + k] * d_seen[1] + g.W[6 + k] * d_seen[2];
      const Real opacity = logistic(x.opacity_raw[i]);
      d_raw = given(x.d_opacity[i]) * opacity * (Real(1) - opacity);
    }
    const auto put = [&](double* out, double* error, Real v) { *out = v.value, *error = v.error; };
    for (int64_t k = 0; k < 3; ++k) {
      put(x.d_position + k * n + i, magnitude.d_position + k * n + i, d_position[size_t(k)]);
      put(x.d_log_scale + k * n + i, magnitude.d_log_scale + k * n + i, d_log_scale[size_t(k)]);
    }
    for (int64_t k = 0; k < 4; ++k)
      put(x.d_quaternion + k * n + i, magnitude.d_quaternion + k * n + i, d_quaternion[size_t(k)]);
    put(x.d_opacity_raw + i, magnitude.d_opacity_raw + i, d_raw);
  }
}

}  // namespace klab
