// The part of mlp_fwd.cpu.04_fused_tile that 06_threads and mlp_narrow_fwd.cpu.02_widened_once take over as it is.

/// out[to][kTile] = w h[from][kTile]; rows of out are out_stride floats apart.
void layer(const float* w, int64_t to, int64_t from, const float* h, bool relu, float* out,
           int64_t out_stride) {
  for (int64_t r = 0; r < to; r += kRows, w += kRows * from, out += kRows * out_stride)
    next_rows(to - r, w, from, h, relu, out, out_stride);
}

/// Samples [begin, end).
void network(const MlpFwd::Shape& s, const float* weights, const float* x, float* y, int64_t begin,
             int64_t end) {
  const int64_t rows = std::max({s.in, s.width, s.out});
  const auto packed = hwy::AllocateAligned<float>(size_t(s.weights()));
  const auto tiles = hwy::AllocateAligned<float>(size_t(2 * rows * kTile));
  float *h = tiles.get(), *next = h + rows * kTile;
  for (int64_t l = 0; l < s.layers(); ++l)
    pack(weights + s.weight_begin(l), s.to(l), s.from(l), packed.get() + s.weight_begin(l));
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    load_tile(x + i, s.in, s.n, count, h);
    for (int64_t l = 0; l < s.hidden; ++l) {
      layer(packed.get() + s.weight_begin(l), s.width, s.from(l), h, true, next, kTile);
      std::swap(h, next);
    }
    const bool whole = count == kTile;
    float* out = whole ? y + i : next;
    const int64_t stride = whole ? s.n : kTile;
    layer(packed.get() + s.weight_begin(s.hidden), s.out, s.width, h, false, out, stride);
    if (s.logistic) logistic(out, s.out, stride);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(next + r * kTile, count, y + r * s.n + i);
  }
}
