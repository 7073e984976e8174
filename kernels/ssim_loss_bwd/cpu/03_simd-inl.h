// The part of ssim_loss_bwd.cpu.03_simd that 04_threads takes over as it is.

using Args = SsimLossBwd::Args<float>;

/// Rows [begin,end) of the three channels one below the other: slopes of the similarity to three maps of [3,height,width].
void slopes(const Args& x, int64_t begin, int64_t end, float* maps) {
  const SsimTag d;
  const SsimLossFwd::Shape& s = x.shape;
  const int64_t lanes = int64_t(hn::Lanes(d));
  std::vector<PaddedRow> sums(5, PaddedRow(s.width));
  const auto two = hn::Set(d, 2.0F), one = hn::Set(d, 1.0F);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t plane = r / s.height * s.pixels(), row = r % s.height;
    ssim_down(s, x.image + plane, x.target + plane, row, sums.data());
    for (int64_t j = 0; j < s.width; j += lanes) {
      const size_t count = size_t(std::min(lanes, s.width - j));
      const SsimParts p = ssim_parts(sums.data(), j);
      const auto by_light = hn::Div(one, p.light_size), by_structure = hn::Div(one, p.structure_size);
      const auto inverse = hn::Mul(by_light, by_structure);
      const auto value = hn::Mul(hn::Mul(p.light, p.structure), inverse);
      const auto mean =
          hn::MulAdd(hn::Mul(hn::Mul(two, p.my), hn::Sub(p.structure, p.light)), inverse,
                     hn::Mul(hn::Mul(hn::Mul(two, p.mx), value), hn::Sub(by_structure, by_light)));
      float* to = maps + plane + row * s.width + j;
      store_first(mean, d, to, count);
      store_first(hn::Neg(hn::Mul(value, by_structure)), d, to + 3 * s.pixels(), count);
      store_first(hn::Mul(hn::Mul(two, p.light), inverse), d, to + 6 * s.pixels(), count);
    }
  }
}

/// The same rows of d_image, from the maps.
void gather(const Args& x, int64_t begin, int64_t end, const float* maps) {
  const SsimTag d;
  const SsimLossFwd::Shape& s = x.shape;
  const int64_t lanes = int64_t(hn::Lanes(d));
  std::vector<PaddedRow> sums(3, PaddedRow(s.width));
  const float share = x.d_loss[0] / float(3 * s.pixels());
  const auto zero = hn::Zero(d), apart = hn::Set(d, 1 - x.weight[0]), alike = hn::Set(d, x.weight[0]);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t plane = r / s.height * s.pixels(), row = r % s.height;
    for (int64_t e = 0; e < 3; ++e) ssim_down_one(s, maps + 3 * e * s.pixels() + plane, row, sums[size_t(e)]);
    for (int64_t j = 0; j < s.width; j += lanes) {
      const size_t count = size_t(std::min(lanes, s.width - j));
      const int64_t at = plane + row * s.width + j;
      const auto a = load_first(d, x.image + at, count), b = load_first(d, x.target + at, count);
      const auto slope =
          hn::MulAdd(hn::Add(a, a), sums[1].across(j), hn::MulAdd(b, sums[2].across(j), sums[0].across(j)));
      const auto off = hn::Sub(a, b);
      const auto sign =
          hn::IfThenElse(hn::Gt(off, zero), apart, hn::IfThenElse(hn::Lt(off, zero), hn::Neg(apart), zero));
      store_first(hn::Mul(hn::Set(d, share), hn::NegMulAdd(alike, slope, sign)), d, x.d_image + at, count);
    }
  }
}
