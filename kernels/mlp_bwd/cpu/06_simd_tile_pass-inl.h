// The part of mlp_bwd.cpu.06_simd_tile that 07_threads takes over as it is.

/// out[rows][kTile] = w h[terms][kTile]; rows of out are out_stride floats apart.
template <End end>
void product(const float* w, int64_t rows, int64_t terms, const float* h, const float* gate, float* out,
             int64_t out_stride) {
  constexpr decltype(&product_rows<end, 1>) kProducts[] = {product_rows<end, 1>, product_rows<end, 2>,
                                                           product_rows<end, 3>, product_rows<end, 4>,
                                                           product_rows<end, 5>, product_rows<end, 6>};
  for (int64_t r = 0; r < rows; r += kRows, w += kRows * terms, out += kRows * out_stride) {
    const float* g = end == End::gate ? gate + r * kTile : nullptr;
    kProducts[std::min(kRows, rows - r) - 1](w, terms, h, g, out, out_stride);
  }
}

/// One tile: forward, then back. Adds to w.sums and writes d_x.
void tile(const MlpBwd::Args<float>& x, int64_t i, int64_t count, Work& w) {
  const MlpBwd::Shape& s = x.shape;
  load_tile(x.x + i, s.in, s.n, count, w.h);
  for (int64_t l = 0; l < s.hidden; ++l)
    product<End::relu>(w.packed + s.weight_begin(l), s.width, s.from(l), w.h + l * w.size, nullptr,
                       w.h + (l + 1) * w.size, kTile);
  load_tile(x.d_y + i, s.out, s.n, count, w.d);
  if (s.logistic) {
    product<End::none>(w.packed + s.weight_begin(s.hidden), s.out, s.width, w.h + s.hidden * w.size, nullptr,
                       w.next, kTile);
    logistic_gradient(w.next, s.out * kTile, w.d);
  }
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), pad = padded(from);
    const float* h = w.h + l * w.size;
    transpose(h, from, pad, w.transposed);
    weight_gradient(w.d, to, w.transposed, pad, w.sums + w.layer_begin[size_t(l)]);
    const float* w_t = w.packed_transposed + s.weight_begin(l);
    const bool direct = l == 0 && count == kTile;
    if (l > 0)
      product<End::gate>(w_t, from, to, w.d, h, w.next, kTile);
    else
      product<End::none>(w_t, from, to, w.d, nullptr, direct ? x.d_x + i : w.next, direct ? s.n : kTile);
    std::swap(w.d, w.next);
  }
  if (count < kTile)
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(w.d + c * kTile, count, x.d_x + c * s.n + i);
}
