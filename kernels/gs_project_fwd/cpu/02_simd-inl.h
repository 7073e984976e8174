// The part of gs_project_fwd.cpu.02_simd that 03_threads takes over as it is.

/// Gaussians [begin,end).
void project(const GsProjectFwd::Args<float>& x, int64_t begin, int64_t end) {
  const int64_t n = x.shape.n, lanes = int64_t(hn::Lanes(GsTag()));
  const GsView view = gs_view(x.camera, x.shape.width, x.shape.height);
  const Lanes center[2] = {all(x.camera[GsProjectFwd::cx]), all(x.camera[GsProjectFwd::cy])};
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const GsSeen s = gs_see(view, n, x.position, x.log_scale, x.quaternion, i, count);
    const auto put = [&](Lanes v, float* to)
                         HWY_ATTR { store({hn::IfThenElseZero(s.in_front, v.v)}, to + i, count); };
    put(view.focal[0] * s.direction[0] + center[0], x.mean);
    put(view.focal[1] * s.direction[1] + center[1], x.mean + n);
    put(s.var_y * s.inverse_determinant, x.conic);
    put(-s.cov * s.inverse_determinant, x.conic + n);
    put(s.var_x * s.inverse_determinant, x.conic + 2 * n);
    put(s.z, x.depth);
    const Lanes opacity = all(1) / (all(1) + exponential(-load(x.opacity_raw + i, count)));
    put(opacity, x.opacity);
    if (x.shape.tight == 0) {
      const Lanes half = (s.var_x - s.var_y) * all(0.5F), middle = (s.var_x + s.var_y) * all(0.5F);
      const Lanes side = all(3) * root(middle + root(half * half + s.cov * s.cov));
      put(side, x.extent);
      put(side, x.extent + n);
    } else {
      const Lanes level = larger(all(1), all(255) * opacity);
      const Lanes k = all(2) * Lanes{hn::Log(GsTag(), level.v)};
      put(root(k * s.var_x), x.extent);
      put(root(k * s.var_y), x.extent + n);
    }
  }
}
