// The part of gs_rasterize_bwd.cpu.01_pixels that gs_rasterize_abs_bwd.cpu.01_pixels takes over as it is. A contract with `pull` gets
// the sums of absolute values, too.

template <class Args>
void walk(const Args& x, int64_t row, int64_t column) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t n = s.n, plane = s.width * s.height, pixel = row * s.width + column;
  const int64_t t = row / 16 * s.columns() + column / 16;
  const float h[3] = {x.d_image[pixel], x.d_image[plane + pixel], x.d_image[2 * plane + pixel]};
  float T = 1;
  float behind = x.image[pixel] * h[0] + x.image[plane + pixel] * h[1] + x.image[2 * plane + pixel] * h[2];
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1]; ++k) {
    const int64_t g = x.id[k];
    const float xx = x.conic[g], xy = x.conic[n + g], yy = x.conic[2 * n + g];
    const float dx = x.mean[g] - (float(column) + 0.5F), dy = x.mean[n + g] - (float(row) + 0.5F);
    const float falloff = std::exp(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
    const float alpha = std::min(0.99F, x.opacity[g] * falloff);
    if (alpha < 1.0F / 255) continue;
    const float left = T * (1 - alpha);
    if (left < 1e-4F) break;
    const float shade = x.color[g] * h[0] + x.color[n + g] * h[1] + x.color[2 * n + g] * h[2];
    const float weight = T * alpha;
    behind -= weight * shade;
    for (int64_t c = 0; c < 3; ++c) x.d_color[c * n + g] += weight * h[c];
    if (x.opacity[g] * falloff <= 0.99F) {
      const float d_alpha = T * shade - behind / (1 - alpha), d_e = alpha * d_alpha;
      x.d_opacity[g] += falloff * d_alpha;
      x.d_conic[g] -= 0.5F * dx * dx * d_e;
      x.d_conic[n + g] -= dx * dy * d_e;
      x.d_conic[2 * n + g] -= 0.5F * dy * dy * d_e;
      const float to_x = (xx * dx + xy * dy) * d_e, to_y = (yy * dy + xy * dx) * d_e;
      x.d_mean[g] -= to_x;
      x.d_mean[n + g] -= to_y;
      if constexpr (requires { x.pull; }) {
        x.pull[g] += std::abs(to_x);
        x.pull[n + g] += std::abs(to_y);
      }
    }
    T = left;
  }
}

template <class Args>
void run(const Args& x) {
  const int64_t n = x.shape.n;
  std::fill_n(x.d_mean, 2 * n, 0.0F);
  std::fill_n(x.d_conic, 3 * n, 0.0F);
  std::fill_n(x.d_opacity, n, 0.0F);
  std::fill_n(x.d_color, 3 * n, 0.0F);
  if constexpr (requires { x.pull; }) std::fill_n(x.pull, 2 * n, 0.0F);
  for (int64_t row = 0; row < x.shape.height; ++row)
    for (int64_t column = 0; column < x.shape.width; ++column) walk(x, row, column);
}
