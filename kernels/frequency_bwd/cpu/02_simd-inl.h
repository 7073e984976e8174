// The part of frequency_bwd.cpu.02_simd that 03_threads takes over as it is.

void gradient(const FrequencyBwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t i = begin; i < end; i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      auto scaled = load_first(d, x.positions + c * n + i, count);
      auto scale = hn::Set(d, 3.14159265F), sum = hn::Zero(d);
      const float* in = x.d_features + c * octaves * 2 * n + i;
      for (int64_t k = 0; k < octaves; ++k, in += 2 * n) {
        auto sin = scaled, cos = scaled;
        sincos_pi(d, scaled, sin, cos);
        const auto d_cos = hn::Mul(load_first(d, in + n, count), sin);
        sum = hn::MulAdd(scale, hn::MulSub(load_first(d, in, count), cos, d_cos), sum);
        scaled = hn::Add(scaled, scaled);
        scale = hn::Add(scale, scale);
      }
      store_first(sum, d, x.d_positions + c * n + i, count);
    }
}
