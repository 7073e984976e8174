// The part of gs_project_bwd.cpu.02_simd that 03_threads takes over as it is.

using Args = GsProjectBwd::Args<float>;

/// Gradients of the axes on the picture, from those of the conic.
HWY_INLINE void through_conic(const Args& x, const GsSeen& s, int64_t i, size_t count,
                              Lanes (&d_axis)[2][3]) {
  const int64_t n = x.shape.n;
  const Lanes d_xx = load(x.d_conic + i, count), d_xy = load(x.d_conic + n + i, count);
  const Lanes d_yy = load(x.d_conic + 2 * n + i, count), two = all(2), inverse = s.inverse_determinant;
  const Lanes d_det =
      -(s.var_y * inverse * d_xx - s.cov * inverse * d_xy + s.var_x * inverse * d_yy) * inverse;
  const Lanes d_p = d_yy * inverse + s.var_y * d_det, d_r = d_xx * inverse + s.var_x * d_det;
  const Lanes d_q = -d_xy * inverse - two * s.cov * d_det;
  for (int k = 0; k < 3; ++k) {
    d_axis[0][k] = two * d_p * s.axis[0][k] + d_q * s.axis[1][k];
    d_axis[1][k] = d_q * s.axis[0][k] + two * d_r * s.axis[1][k];
  }
}

/// Computes the gradient of the unnormalized quaternion from that of the rotation.
HWY_INLINE void through_rotation(const GsSeen& s, const Lanes (&d)[9], Lanes (&out)[4]) {
  const Lanes w = s.q[0], a = s.q[1], b = s.q[2], c = s.q[3], two = all(2);
  const Lanes unit[4] = {
      two * (c * (d[3] - d[1]) + b * (d[2] - d[6]) + a * (d[7] - d[5])),
      two * (b * (d[1] + d[3]) + c * (d[2] + d[6]) + w * (d[7] - d[5]) - two * a * (d[4] + d[8])),
      two * (a * (d[1] + d[3]) + c * (d[5] + d[7]) + w * (d[2] - d[6]) - two * b * (d[0] + d[8])),
      two * (a * (d[2] + d[6]) + b * (d[5] + d[7]) + w * (d[3] - d[1]) - two * c * (d[0] + d[4]))};
  const Lanes along = w * unit[0] + a * unit[1] + b * unit[2] + c * unit[3];
  for (int k = 0; k < 4; ++k) out[k] = (unit[k] - s.q[k] * along) * s.inverse_length;
}

/// Gaussians [begin,end).
void backward(const Args& x, int64_t begin, int64_t end) {
  const int64_t n = x.shape.n, lanes = int64_t(hn::Lanes(GsTag()));
  const GsView view = gs_view(x.camera, x.shape.width, x.shape.height);
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const GsSeen s = gs_see(view, n, x.position, x.log_scale, x.quaternion, i, count);
    const auto put = [&](Lanes v, float* to)
                         HWY_ATTR { store({hn::IfThenElseZero(s.in_front, v.v)}, to + i, count); };
    Lanes d_axis[2][3], d_R[9], d_quaternion[4];
    through_conic(x, s, i, count, d_axis);
    for (int k = 0; k < 3; ++k) {
      Lanes d_scale = all(0);
      for (int j = 0; j < 3; ++j) {
        const Lanes d_m = s.row[0][j] * d_axis[0][k] + s.row[1][j] * d_axis[1][k];
        d_R[3 * j + k] = d_m * s.scale[k];
        d_scale = d_scale + d_R[3 * j + k] * s.R[3 * j + k];
      }
      put(d_scale, x.d_log_scale + k * n);
    }
    through_rotation(s, d_R, d_quaternion);
    for (int k = 0; k < 4; ++k) put(d_quaternion[k], x.d_quaternion + k * n);
    Lanes d_z = all(0), d_at[3] = {all(0), all(0), all(0)};
    for (int e = 0; e < 2; ++e) {
      const Lanes focal = view.focal[e];
      Lanes d_per_z = all(0), d_held = all(0);
      for (int k = 0; k < 3; ++k) {
        const Lanes d_row = s.R[3 * k] * s.scale[0] * d_axis[e][0] +
                            s.R[3 * k + 1] * s.scale[1] * d_axis[e][1] +
                            s.R[3 * k + 2] * s.scale[2] * d_axis[e][2];
        d_per_z = d_per_z + d_row * (view.W[3 * e + k] - s.held[e] * view.W[6 + k]);
        d_held = d_held - focal * s.per_z * d_row * view.W[6 + k];
      }
      const auto is_free = hn::Le(hn::Abs(s.direction[e].v), view.most[e].v);
      const Lanes d_direction =
          (focal * load(x.d_mean + e * n + i, count) + Lanes{hn::IfThenElseZero(is_free, d_held.v)}) *
          s.per_z;
      d_z = d_z - focal * s.per_z * s.per_z * d_per_z - s.direction[e] * d_direction;
      for (int k = 0; k < 3; ++k) d_at[k] = d_at[k] + view.W[3 * e + k] * d_direction;
    }
    for (int k = 0; k < 3; ++k) put(d_at[k] + view.W[6 + k] * d_z, x.d_position + k * n);
    const Lanes opacity = all(1) / (all(1) + exponential(-load(x.opacity_raw + i, count)));
    put(load(x.d_opacity + i, count) * opacity * (all(1) - opacity), x.d_opacity_raw);
  }
}
