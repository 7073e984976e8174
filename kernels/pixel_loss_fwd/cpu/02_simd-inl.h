// The part of pixel_loss_fwd.cpu.02_simd that 03_threads takes over as it is.

void loss(const PixelLossFwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = x.shape.n;
  const bool squares = x.shape.kind == 0;
  const auto turn = hn::Set(d, PixelLossFwd::turn(x.shape.kind)), half = hn::Set(d, 0.5F);
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    auto sum = hn::Zero(d);
    for (int64_t c = 0; c < 3; ++c) {
      const auto e = hn::Abs(hn::Sub(load_first(d, x.prediction + c * n + i, count),
                                     load_first(d, x.target + c * n + i, count)));
      // With s = min(e, turn): s·(e - s/2) is e^2/2 before the turn and turn·(e - turn/2) behind it.
      const auto s = squares ? e : hn::IfThenElse(hn::Gt(e, turn), turn, e);
      sum = hn::MulAdd(s, squares ? e : hn::NegMulAdd(half, s, e), sum);
    }
    store_first(hn::Mul(sum, hn::Set(d, 1.0F / 3)), d, x.loss + i, count);
  }
}
