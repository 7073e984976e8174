// gs_project_bwd.cuda.01_thread_per_gaussian: one thread per Gaussian.
//
// CHANGE    the naive loop, spread over threads; the forward is computed once more.
// EXPECT    whole sectors; some hundred numbers alive at a time, so registers decide how many warps there
//           are.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"

namespace klab {
namespace {

using Fwd = GsProjectFwd;
using Args = GsProjectBwd::Args<float>;

/// Quaternion of unit length, its length, rotation, scales.
struct InSpace {
  float q[4], length, R[9], scale[3];
};

__device__ InSpace in_space(const Args& x, int64_t i) {
  const int64_t n = x.shape.n;
  InSpace s{};
  float square = 0;
  for (int64_t k = 0; k < 4; ++k) square += x.quaternion[k * n + i] * x.quaternion[k * n + i];
  s.length = sqrtf(square);
  for (int64_t k = 0; k < 4; ++k) s.q[k] = x.quaternion[k * n + i] / s.length;
  const float w = s.q[0], a = s.q[1], b = s.q[2], c = s.q[3];
  const float R[9] = {1 - 2 * (b * b + c * c), 2 * (a * b - w * c),     2 * (a * c + w * b),
                      2 * (a * b + w * c),     1 - 2 * (a * a + c * c), 2 * (b * c - w * a),
                      2 * (a * c - w * b),     2 * (b * c + w * a),     1 - 2 * (a * a + b * b)};
  for (int k = 0; k < 9; ++k) s.R[k] = R[k];
  for (int64_t k = 0; k < 3; ++k) s.scale[k] = expf(x.log_scale[k * n + i]);
  return s;
}

__device__ void put_quaternion(const Args& x, int64_t i, const InSpace& s, const float (&d)[9]) {
  const int64_t n = x.shape.n;
  const float w = s.q[0], a = s.q[1], b = s.q[2], c = s.q[3];
  const float unit[4] = {
      2 * (c * (d[3] - d[1]) + b * (d[2] - d[6]) + a * (d[7] - d[5])),
      2 * (b * (d[1] + d[3]) + c * (d[2] + d[6]) + w * (d[7] - d[5]) - 2 * a * (d[4] + d[8])),
      2 * (a * (d[1] + d[3]) + c * (d[5] + d[7]) + w * (d[2] - d[6]) - 2 * b * (d[0] + d[8])),
      2 * (a * (d[2] + d[6]) + b * (d[5] + d[7]) + w * (d[3] - d[1]) - 2 * c * (d[0] + d[4]))};
  const float along = s.q[0] * unit[0] + s.q[1] * unit[1] + s.q[2] * unit[2] + s.q[3] * unit[3];
  for (int64_t k = 0; k < 4; ++k) x.d_quaternion[k * n + i] = (unit[k] - s.q[k] * along) / s.length;
}

__device__ void clear(const Args& x, int64_t i) {
  const int64_t n = x.shape.n;
  for (int64_t k = 0; k < 3; ++k) x.d_position[k * n + i] = x.d_log_scale[k * n + i] = 0;
  for (int64_t k = 0; k < 4; ++k) x.d_quaternion[k * n + i] = 0;
  x.d_opacity_raw[i] = 0;
}

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) each(Args x) {
  const int64_t n = x.shape.n;
  const float *W = x.camera + Fwd::rotation, *t = x.camera + Fwd::translation;
  const float focal[2] = {x.camera[Fwd::fx], x.camera[Fwd::fy]};
  const float most[2] = {1.3F * float(x.shape.width) / (2 * focal[0]),
                         1.3F * float(x.shape.height) / (2 * focal[1])};
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float at[3] = {x.position[i], x.position[n + i], x.position[2 * n + i]};
  const float z = W[6] * at[0] + W[7] * at[1] + W[8] * at[2] + t[2];
  if (!(z > x.camera[Fwd::near])) {
    clear(x, i);
    return;
  }
  const InSpace s = in_space(x, i);
  float direction[2], held[2], row[2][3], axis[2][3];
  for (int e = 0; e < 2; ++e) {
    direction[e] = (W[3 * e] * at[0] + W[3 * e + 1] * at[1] + W[3 * e + 2] * at[2] + t[e]) / z;
    held[e] = fminf(fmaxf(direction[e], -most[e]), most[e]);
    for (int k = 0; k < 3; ++k) row[e][k] = focal[e] / z * (W[3 * e + k] - held[e] * W[6 + k]);
    for (int k = 0; k < 3; ++k)
      axis[e][k] = s.scale[k] * (s.R[k] * row[e][0] + s.R[3 + k] * row[e][1] + s.R[6 + k] * row[e][2]);
  }
  const auto dot = [](const float* l, const float* r) { return l[0] * r[0] + l[1] * r[1] + l[2] * r[2]; };
  const float p = dot(axis[0], axis[0]) + 0.3F, q = dot(axis[0], axis[1]), r = dot(axis[1], axis[1]) + 0.3F;
  const float inverse = 1 / (p * r - q * q);
  const float d_xx = x.d_conic[i], d_xy = x.d_conic[n + i], d_yy = x.d_conic[2 * n + i];
  const float d_det = -(r * d_xx - q * d_xy + p * d_yy) * inverse * inverse;
  const float d_p = d_yy * inverse + r * d_det, d_r = d_xx * inverse + p * d_det;
  const float d_q = -d_xy * inverse - 2 * q * d_det;
  float d_axis[2][3], d_R[9], d_at[3] = {0, 0, 0}, d_z = 0;
  for (int k = 0; k < 3; ++k) {
    d_axis[0][k] = 2 * d_p * axis[0][k] + d_q * axis[1][k];
    d_axis[1][k] = d_q * axis[0][k] + 2 * d_r * axis[1][k];
  }
  for (int k = 0; k < 3; ++k) {
    float d_scale = 0;
    for (int j = 0; j < 3; ++j) {
      const float d_m = row[0][j] * d_axis[0][k] + row[1][j] * d_axis[1][k];
      d_scale += d_m * s.R[3 * j + k] * s.scale[k];
      d_R[3 * j + k] = d_m * s.scale[k];
    }
    x.d_log_scale[k * n + i] = d_scale;
  }
  put_quaternion(x, i, s, d_R);
  for (int e = 0; e < 2; ++e) {
    float d_per_z = 0, d_held = 0;
    for (int k = 0; k < 3; ++k) {
      const float d_row = s.R[3 * k] * s.scale[0] * d_axis[e][0] +
                          s.R[3 * k + 1] * s.scale[1] * d_axis[e][1] +
                          s.R[3 * k + 2] * s.scale[2] * d_axis[e][2];
      d_per_z += d_row * (W[3 * e + k] - held[e] * W[6 + k]);
      d_held -= focal[e] / z * d_row * W[6 + k];
    }
    float d_direction = focal[e] * x.d_mean[e * n + i];
    if (fabsf(direction[e]) <= most[e]) d_direction += d_held;
    d_z -= focal[e] / (z * z) * d_per_z + direction[e] * d_direction / z;
    for (int k = 0; k < 3; ++k) d_at[k] += W[3 * e + k] * d_direction / z;
  }
  for (int k = 0; k < 3; ++k) x.d_position[k * n + i] = d_at[k] + W[6 + k] * d_z;
  const float opacity = 1 / (1 + expf(-x.opacity_raw[i]));
  x.d_opacity_raw[i] = x.d_opacity[i] * opacity * (1 - opacity);
}

void run(const Args& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GsProjectBwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
