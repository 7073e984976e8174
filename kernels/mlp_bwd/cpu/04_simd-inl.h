// The part of mlp_bwd.cpu.04_simd that 05_register_tile, 06_simd_tile, 07_threads and 08_prefetch take over as it is.

/// Rows of `count` samples, stride apart, into a tile; samples missing to a whole tile are zero and add
/// nothing.
void load_tile(const float* x, int64_t rows, int64_t stride, int64_t count, float* tile) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += stride, tile += kTile) {
    if (count == kTile) {
      for (int64_t t = 0; t < kTile; t += lanes) hn::Store(hn::LoadU(d, x + t), d, tile + t);
    } else {
      std::fill(std::copy_n(x, count, tile), tile + kTile, 0.0F);
    }
  }
}

/// d *= s(z)(1 - s(z)) for `count` values. With e = exp(-z): s = 1/(1+e), 1-s = e s, without cancellation.
void logistic_gradient(const float* z, int64_t count, float* d_tile) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F), limit = hn::Set(d, 87.0F);  // exp stays finite
  for (int64_t i = 0; i < count; i += int64_t(hn::Lanes(d))) {
    const Vector v = hn::Load(d, z + i), clamped = hn::Min(limit, hn::Max(hn::Neg(limit), v));
    const Vector e = hn::Exp(d, hn::Neg(clamped)), y = hn::Div(one, hn::Add(one, e));
    const Vector slope =
        hn::IfThenElse(hn::IsNaN(v), v, hn::Mul(y, hn::Mul(e, y)));  // exp(NaN) is 0 in Highway
    hn::Store(hn::Mul(hn::Load(d, d_tile + i), slope), d, d_tile + i);
  }
}
