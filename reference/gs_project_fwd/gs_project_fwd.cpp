#include "reference/gs_project_fwd/gs_project_fwd.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/generator.h"
#include "reference/gs_project_fwd/projection.h"

namespace klab {
namespace {

using Uniform = std::uniform_real_distribution<double>;

/// Draws W and t of a camera around the middle of the unit cube, facing it.
void draw_camera(float* camera, const GsProjectFwd::Shape& s, Generator& random) {
  using C = GsProjectFwd::Camera;
  const double turn = Uniform(0, 2 * std::numbers::pi)(random), up = Uniform(-0.8, 0.8)(random);
  const double side = std::sqrt(1 - up * up);
  const double z[3] = {-side * std::cos(turn), -side * std::sin(turn), -up};  // forward
  const double x[3] = {std::sin(turn), -std::cos(turn), 0};                   // right
  const double y[3] = {z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]};
  const double* rows[3] = {x, y, z};
  const double distance = Uniform(1.2, 2)(random);
  for (int r = 0; r < 3; ++r) {
    double at = r == 2 ? distance : 0;
    for (int k = 0; k < 3; ++k) {
      camera[C::rotation + 3 * r + k] = float(rows[r][k]);
      at -= rows[r][k] * 0.5;
    }
    camera[C::translation + r] = float(at);
  }
  const double focal = Uniform(1, 1.6)(random);
  camera[C::fx] = float(focal * double(s.width));
  camera[C::fy] = float(focal * double(s.width) * Uniform(0.95, 1.05)(random));
  camera[C::cx] = float(double(s.width) * Uniform(0.45, 0.55)(random));
  camera[C::cy] = float(double(s.height) * Uniform(0.45, 0.55)(random));
  camera[C::near] = 0.05F;
}

/// Returns whether rounding, or the small steps of a gradient check, could change a decision.
bool near_a_border(const GsProjectFwd::Shape& s, const float* camera, const double (&at)[3]) {
  using C = GsProjectFwd::Camera;
  double seen[3];
  for (int r = 0; r < 3; ++r) {
    seen[r] = camera[C::translation + r];
    for (int k = 0; k < 3; ++k) seen[r] += double(camera[C::rotation + 3 * r + k]) * at[k];
  }
  if (std::abs(seen[2] - camera[C::near]) < 0.01) return true;
  if (seen[2] < camera[C::near]) return false;
  const auto close = [](double direction, double side, double focal) {
    return std::abs(std::abs(direction) / (GsProjectFwd::border * side / (2 * focal)) - 1) < 0.01;
  };
  return close(seen[0] / seen[2], double(s.width), camera[C::fx]) ||
         close(seen[1] / seen[2], double(s.height), camera[C::fy]);
}

}  // namespace

void GsProjectFwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t n = x.shape.n;
  auto* camera = const_cast<float*>(x.camera);
  draw_camera(camera, x.shape, random);
  // Widely: needles and disks, from a hundredth of a pixel to half the picture.
  const double pixel = 1.5 / double(camera[Camera::fx]);
  for (int64_t i = 0; i < n; ++i) {
    double at[3];
    do {
      const uint64_t place = random() % 16;  // far to the side, or behind the camera, or in the cube
      const double reach = place == 0 ? 3 : 0.5;
      for (double& v : at) v = 0.5 + Uniform(-reach, reach)(random);
      if (place == 1)
        for (int k = 0; k < 3; ++k) at[k] -= 3 * double(camera[Camera::rotation + 6 + k]);
    } while (near_a_border(x.shape, camera, at));
    for (int64_t k = 0; k < 3; ++k) {
      const_cast<float*>(x.position)[k * n + i] = float(at[k]);
      const double size = random.widely ? std::pow(10.0, Uniform(-2, 2)(random)) : Uniform(0.5, 6)(random);
      const_cast<float*>(x.log_scale)[k * n + i] = float(std::log(std::min(size * pixel, 0.5)));
    }
    double length = 0;
    while (!(length > 0.05)) {
      length = 0;
      for (int64_t k = 0; k < 4; ++k) {
        const double q = std::normal_distribution<double>()(random);
        const_cast<float*>(x.quaternion)[k * n + i] = float(q);
        length += q * q;
      }
    }
    // The logit of 1/255 is about -5.54.
    double raw = Uniform(-5.2, 6)(random);
    if (random() % 8 == 0) raw = Uniform(-9, -6)(random);
    const_cast<float*>(x.opacity_raw)[i] = float(raw);
  }
}

void GsProjectFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) {
    const Projection g = project(x.shape, x.camera, x.position, x.log_scale, x.quaternion, i);
    Real mean[2], conic[3], depth, opacity, extent[2];
    if (!g.culled) {
      mean[0] = Real(x.camera[fx]) * g.u + Real(x.camera[cx]);
      mean[1] = Real(x.camera[fy]) * g.v + Real(x.camera[cy]);
      conic[0] = g.var_y / g.determinant;
      conic[1] = -g.cov / g.determinant;
      conic[2] = g.var_x / g.determinant;
      depth = g.z;
      opacity = logistic(x.opacity_raw[i]);
      if (x.shape.tight == 0) {
        const Real middle = (g.var_x + g.var_y) * Real(0.5), half = (g.var_x - g.var_y) * Real(0.5);
        extent[0] = extent[1] = Real(3) * sqrt(middle + sqrt(half * half + g.cov * g.cov));
      } else if (opacity.value * levels > 1) {
        const Real k = Real(2) * log(Real(levels) * opacity);
        extent[0] = sqrt(k * g.var_x);
        extent[1] = sqrt(k * g.var_y);
      }
    }
    const auto put = [&](double* out, double* error, Real value) {
      *out = value.value, *error = value.error;
    };
    for (int64_t k = 0; k < 2; ++k) {
      put(x.mean + k * n + i, magnitude.mean + k * n + i, mean[k]);
      put(x.extent + k * n + i, magnitude.extent + k * n + i, extent[k]);
    }
    for (int64_t k = 0; k < 3; ++k) put(x.conic + k * n + i, magnitude.conic + k * n + i, conic[k]);
    put(x.depth + i, magnitude.depth + i, depth);
    put(x.opacity + i, magnitude.opacity + i, opacity);
  }
}

}  // namespace klab
