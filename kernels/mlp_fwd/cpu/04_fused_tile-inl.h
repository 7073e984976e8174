// The part of mlp_fwd.cpu.04_fused_tile that 06_threads takes over as it is.
//
// Included in place, inside the namespaces of a rung: no guard, and no namespace of its own.

/// out[to][kTile] = w h[from][kTile]; rows of out are out_stride floats apart.
void layer(const float* w, int64_t to, int64_t from, const float* h, bool relu, float* out,
           int64_t out_stride) {
  for (int64_t r = 0; r < to; r += kRows, w += kRows * from, out += kRows * out_stride) {
    switch (std::min(kRows, to - r)) {
      case 1:
        register_tile<1>(w, from, h, relu, out, out_stride);
        break;
      case 2:
        register_tile<2>(w, from, h, relu, out, out_stride);
        break;
      case 3:
        register_tile<3>(w, from, h, relu, out, out_stride);
        break;
      case 4:
        register_tile<4>(w, from, h, relu, out, out_stride);
        break;
      case 5:
        register_tile<5>(w, from, h, relu, out, out_stride);
        break;
      default:
        register_tile<6>(w, from, h, relu, out, out_stride);
    }
  }
}

/// Rows of `count` samples, stride apart, into a tile; samples missing to a whole tile are zero.
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

/// z = 1/(1 + exp(-z)) in place. Beyond 87 the result is 0 or 1 to float's precision, and exp stays finite.
void logistic(float* z, int64_t rows, int64_t stride) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F), limit = hn::Set(d, 87.0F);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < kTile; t += int64_t(hn::Lanes(d))) {
      const Vector v = hn::LoadU(d, z + r * stride + t), clamped = hn::Min(limit, hn::Max(hn::Neg(limit), v));
      const Vector y = hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(clamped))));
      hn::StoreU(hn::IfThenElse(hn::IsNaN(v), v, y), d, z + r * stride + t);  // exp(NaN) is 0 in Highway
    }
}
