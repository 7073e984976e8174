// The part of gs_bin.cpu.02_counting that 03_threads takes over as it is.

/// Tiles [left,right) x [top,bottom).
struct Box {
  int32_t left = 0, right = 0, top = 0, bottom = 0;
};

int32_t tile_of(float at, int64_t count) {
  return int32_t(std::clamp(std::floor(at / 16), -1.0F, float(count)));
}

Box box_of(const GsBin::Args<float>& x, int64_t i) {
  const GsBin::Shape& s = x.shape;
  const float width = x.extent[i], height = x.extent[s.n + i], across = x.mean[i], down = x.mean[s.n + i];
  if (!(width > 0 && height > 0)) return {};
  Box b;
  b.left = std::max(tile_of(across - width, s.columns()), 0);
  b.right = std::min(tile_of(across + width, s.columns()) + 1, int32_t(s.columns()));
  b.top = std::max(tile_of(down - height, s.rows()), 0);
  b.bottom = std::min(tile_of(down + height, s.rows()) + 1, int32_t(s.rows()));
  return b;
}
