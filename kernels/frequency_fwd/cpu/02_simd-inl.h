// The part of frequency_fwd.cpu.02_simd that 03_threads takes over as it is.

void encode(const FrequencyFwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t i = begin; i < end; i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      auto scaled = load_first(d, x.positions + c * n + i, count);
      float* out = x.features + c * octaves * 2 * n + i;
      for (int64_t k = 0; k < octaves; ++k, out += 2 * n, scaled = hn::Add(scaled, scaled)) {
        auto sin = scaled, cos = scaled;
        sincos_pi(d, scaled, sin, cos);
        store_first(sin, d, out, count);
        store_first(cos, d, out + n, count);
      }
    }
}
