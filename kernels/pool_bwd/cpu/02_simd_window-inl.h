// The part of pool_bwd.cpu.02_simd that 03_threads and 05_winners take over as it is.

/// One window, NHWC: channels [k, k + 1 vector) or, with `one`, one channel at a time.
template <class D>
HWY_INLINE void window(D d, const PoolShape& s, PoolShape::Range down, PoolShape::Range across,
                       const float* x, const float* d_y, float* d_x) {
  const auto each = [&](auto&& visit) {
    for (int64_t p = down.begin; p < down.end; ++p)
      for (int64_t q = across.begin; q < across.end; ++q) visit((p * s.w + q) * s.c);
  };
  auto left = hn::LoadU(d, d_y);
  if (!s.is_max()) {
    left = hn::Mul(left, hn::Set(d, 1 / float(s.divisor(down, across))));
    each([&](int64_t at) { hn::StoreU(hn::Add(hn::LoadU(d, d_x + at), left), d, d_x + at); });
    return;
  }
  auto largest = hn::Set(d, -std::numeric_limits<float>::infinity());
  each([&](int64_t at) { largest = hn::Max(largest, hn::LoadU(d, x + at)); });
  each([&](int64_t at) {
    const auto mine = hn::Eq(hn::LoadU(d, x + at), largest);
    hn::StoreU(hn::Add(hn::LoadU(d, d_x + at), hn::IfThenElseZero(mine, left)), d, d_x + at);
    left = hn::IfThenZeroElse(mine, left);
  });
}
