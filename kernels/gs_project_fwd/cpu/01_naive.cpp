// gs_project_fwd.cpu.01_naive: one Gaussian after the other, directly by the formulas.
//
// CHANGE    the naive loop.
// EXPECT    some 130 operations, four divisions and five functions of the C library a Gaussian, one lane of
//           sixteen.
// NUMERICS  the determinant as p·r - q^2.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"

namespace klab {
namespace {

using Op = GsProjectFwd;

/// The columns of M = R(q)·diag(scale), row by row.
void shape_in_space(const Op::Args<float>& x, int64_t i, float (&M)[9]) {
  const int64_t n = x.shape.n;
  float w = x.quaternion[i], a = x.quaternion[n + i], b = x.quaternion[2 * n + i],
        c = x.quaternion[3 * n + i];
  const float inverse = 1 / std::sqrt(w * w + a * a + b * b + c * c);
  w *= inverse, a *= inverse, b *= inverse, c *= inverse;
  const float R[9] = {1 - 2 * (b * b + c * c), 2 * (a * b - w * c),     2 * (a * c + w * b),
                      2 * (a * b + w * c),     1 - 2 * (a * a + c * c), 2 * (b * c - w * a),
                      2 * (a * c - w * b),     2 * (b * c + w * a),     1 - 2 * (a * a + b * b)};
  for (int64_t k = 0; k < 3; ++k) {
    const float scale = std::exp(x.log_scale[k * n + i]);
    for (int row = 0; row < 3; ++row) M[3 * row + k] = R[3 * row + k] * scale;
  }
}

void cull(const Op::Args<float>& x, int64_t i) {
  const int64_t n = x.shape.n;
  for (int64_t k = 0; k < 2; ++k) x.mean[k * n + i] = x.extent[k * n + i] = 0;
  for (int64_t k = 0; k < 3; ++k) x.conic[k * n + i] = 0;
  x.depth[i] = x.opacity[i] = 0;
}

void run(const Op::Args<float>& x) {
  const int64_t n = x.shape.n;
  const float *W = x.camera + Op::rotation, *t = x.camera + Op::translation;
  const float fx = x.camera[Op::fx], fy = x.camera[Op::fy];
  const float most_u = 1.3F * float(x.shape.width) / (2 * fx),
              most_v = 1.3F * float(x.shape.height) / (2 * fy);
  for (int64_t i = 0; i < n; ++i) {
    const float px = x.position[i], py = x.position[n + i], pz = x.position[2 * n + i];
    const float z = W[6] * px + W[7] * py + W[8] * pz + t[2];
    if (!(z > x.camera[Op::near])) {
      cull(x, i);
      continue;
    }
    const float u = (W[0] * px + W[1] * py + W[2] * pz + t[0]) / z;
    const float v = (W[3] * px + W[4] * py + W[5] * pz + t[1]) / z;
    const float held_u = std::clamp(u, -most_u, most_u), held_v = std::clamp(v, -most_v, most_v);
    float M[9], a[3], b[3];
    shape_in_space(x, i, M);
    for (int k = 0; k < 3; ++k) {
      a[k] = b[k] = 0;
      for (int row = 0; row < 3; ++row) {
        a[k] += M[3 * row + k] * (fx / z * (W[row] - held_u * W[6 + row]));
        b[k] += M[3 * row + k] * (fy / z * (W[3 + row] - held_v * W[6 + row]));
      }
    }
    const float p = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + 0.3F;
    const float q = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const float r = b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + 0.3F;
    const float determinant = p * r - q * q;
    x.mean[i] = fx * u + x.camera[Op::cx];
    x.mean[n + i] = fy * v + x.camera[Op::cy];
    x.conic[i] = r / determinant;
    x.conic[n + i] = -q / determinant;
    x.conic[2 * n + i] = p / determinant;
    x.depth[i] = z;
    const float opacity = x.opacity[i] = 1 / (1 + std::exp(-x.opacity_raw[i]));
    if (x.shape.tight == 0) {
      const float half = (p - r) / 2;
      x.extent[i] = x.extent[n + i] = 3 * std::sqrt((p + r) / 2 + std::sqrt(half * half + q * q));
    } else {
      const float k = 2 * std::max(0.0F, std::log(255 * opacity));
      x.extent[i] = std::sqrt(k * p);
      x.extent[n + i] = std::sqrt(k * r);
    }
  }
}

KLAB_VARIANT(GsProjectFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
