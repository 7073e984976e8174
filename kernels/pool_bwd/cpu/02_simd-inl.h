// The part of pool_bwd.cpu.02_simd that 03_threads takes over as it is.

/// One channel, NCHW.
void picture(const PoolShape& s, const float* x, const float* d_y, float* d_x) {
  static thread_local Scratch xs, gradients, upstream;
  const Sorted sorted(s);
  Scales scales(s);
  const int64_t ow = s.ow(), floats = sorted.floats();
  float* sorted_x = xs.floats(s.r * floats);
  float* sorted_d_x = gradients.floats(s.r * floats);
  float* row = upstream.floats(ow + kBeyond);
  std::fill_n(row, ow + kBeyond, 0.0F);
  std::fill_n(d_x, s.h * s.w, 0.0F);
  std::fill_n(sorted_x, s.r * floats,
              -std::numeric_limits<float>::infinity());  // stays around the columns
  for (int64_t i = 0; i < s.oh(); ++i, d_y += ow) {
    const PoolShape::Range down = s.rows(i);
    const int64_t rows = down.end - down.begin;
    std::copy_n(d_y, ow, row);
    if (s.is_max()) {
      std::fill_n(sorted_d_x, rows * floats, 0.0F);
      for (int64_t u = 0; u < rows; ++u) sorted.sort(x + (down.begin + u) * s.w, sorted_x + u * floats);
      claim(s, sorted, rows, sorted_x, row, sorted_d_x);
      for (int64_t u = 0; u < rows; ++u)
        sorted.add_back(sorted_d_x + u * floats, d_x + (down.begin + u) * s.w);
      continue;
    }
    // An average: columns first, then the same for all rows of the window.
    const float* scale = scales.of(down);
    for (int64_t j = 0; j < ow; ++j) row[j] *= scale[j];
    std::fill_n(sorted_d_x, floats, 0.0F);
    for (int64_t v = 0; v < s.s; ++v) {
      float* to = sorted_d_x + sorted.at(v);
      for (int64_t j = 0; j < ow; ++j) to[j] += row[j];
    }
    for (int64_t u = 0; u < rows; ++u) sorted.add_back(sorted_d_x, d_x + (down.begin + u) * s.w);
  }
}
