// The part of pixel_loss_bwd.cpu.02_simd that 03_threads takes over as it is.

void gradient(const PixelLossBwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = x.shape.n;
  const bool squares = x.shape.kind == 0;
  const auto turn = hn::Set(d, PixelLossFwd::turn(x.shape.kind)),
             factor = hn::Set(d, (squares ? 2.0F : 1.0F) / 3);
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const auto g = hn::Mul(load_first(d, x.d_loss + i, count), factor);
    for (int64_t c = 0; c < 3; ++c) {
      auto e =
          hn::Sub(load_first(d, x.prediction + c * n + i, count), load_first(d, x.target + c * n + i, count));
      if (!squares) {
        e = hn::IfThenElse(hn::Gt(e, turn), turn, e);
        e = hn::IfThenElse(hn::Lt(e, hn::Neg(turn)), hn::Neg(turn), e);
      }
      store_first(hn::Mul(g, e), d, x.d_prediction + c * n + i, count);
    }
  }
}
