// The part of mlp_fwd.cpu.04_fused_tile that 06_threads, 07_prefetch and mlp_narrow_fwd.cpu.02_widened_once take over as it is.

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;  // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int64_t kVectors = 2;  // 16 registers: 12 sums, 2 inputs, 1 weight
#else
constexpr int64_t kVectors = 4;  // 32 registers: 24 sums, 4 inputs, 1 weight
#endif

/// packed[k][R] for each block of up to kRows rows of w[to][from], one block after the other.
void pack(const float* w, int64_t to, int64_t from, float* packed) {
  for (int64_t r = 0; r < to; r += kRows)
    for (int64_t k = 0; k < from; ++k)
      for (int64_t j = r; j < std::min(r + kRows, to); ++j) *packed++ = w[j * from + k];
}

/// R rows of out = w h for the tile h[from][kTile]. The maximum's operands are in this order so that a NaN
/// stays one.
template <int64_t R>
void register_tile(const float* HWY_RESTRICT w, int64_t from, const float* HWY_RESTRICT h, bool relu,
                   float* HWY_RESTRICT out, int64_t out_stride) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector sum[R][kVectors];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
#pragma GCC unroll 4  // of the instructions of a turn of 12 multiply-adds, counting would be a sixth
#endif
    for (int64_t k = 0; k < from; ++k) {
      Vector in[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::Load(d, h + k * kTile + t + v * lanes);
      for (int64_t r = 0; r < R; ++r) {
        const Vector weight = hn::Set(d, w[k * R + r]);
        for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(weight, in[v], sum[r][v]);
      }
    }
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) {
        const Vector z = relu ? hn::Max(hn::Zero(d), sum[r][v]) : sum[r][v];
        hn::StoreU(z, d, out + r * out_stride + t + v * lanes);
      }
  }
}

/// The next rows of out: all `left` of them, at most kRows. Their weights are packed.
void next_rows(int64_t left, const float* w, int64_t from, const float* h, bool relu, float* out,
               int64_t out_stride) {
  switch (std::min(kRows, left)) {
    case 1:
      return register_tile<1>(w, from, h, relu, out, out_stride);
    case 2:
      return register_tile<2>(w, from, h, relu, out, out_stride);
    case 3:
      return register_tile<3>(w, from, h, relu, out, out_stride);
    case 4:
      return register_tile<4>(w, from, h, relu, out, out_stride);
    case 5:
      return register_tile<5>(w, from, h, relu, out, out_stride);
    default:
      return register_tile<6>(w, from, h, relu, out, out_stride);
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
