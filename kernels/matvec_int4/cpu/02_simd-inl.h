// The part of matvec_int4.cpu.02_simd that 03_threads takes over as it is.

/// Rows [i, end).
void multiply(const MatvecInt4::Args<float>& x, int64_t i, int64_t end) {
  constexpr int64_t kHalf = MatvecInt4::kBlock / 2;
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const int64_t lanes = int64_t(hn::Lanes(d)), blocks = x.shape.blocks;
  const auto low_half = hn::Set(integers, 15), eight = hn::Set(integers, 8);
  for (; i < end; ++i) {
    auto low = hn::Zero(d), high = low;
    for (int64_t g = 0; g < blocks; ++g) {
      const uint8_t* q = x.q + (i * blocks + g) * kHalf;
      const float* in = x.x + g * MatvecInt4::kBlock;
      const auto scale = hn::Set(d, float_from_half(x.scale[i * blocks + g]));
      auto a = hn::Zero(d), b = a;
      for (int64_t e = 0; e < kHalf; e += lanes) {
        const auto both = hn::PromoteTo(integers, hn::LoadU(bytes, q + e));
        const auto first = hn::ConvertTo(d, hn::Sub(hn::And(both, low_half), eight));
        const auto second = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<4>(both), eight));
        a = hn::MulAdd(first, hn::LoadU(d, in + e), a);
        b = hn::MulAdd(second, hn::LoadU(d, in + e + kHalf), b);
      }
      low = hn::MulAdd(scale, a, low);
      high = hn::MulAdd(scale, b, high);
    }
    x.y[i] = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  }
}
