// The part of mlp_bwd.cpu.05_register_tile that 06_simd_tile, 07_threads and 08_prefetch take over as it is.

constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int64_t kVectors = 2;  // 16 registers: 12 sums, 2 inputs, 1 weight
#else
constexpr int64_t kVectors = 4;  // 32 registers: 24 sums, 4 inputs, 1 weight
#endif

constexpr int64_t padded(int64_t columns) { return (columns + kPad - 1) / kPad * kPad; }

/// packed[k][R] for each block of up to kRows rows of a matrix m(j, k) = w[j·row + k·column].
void pack(const float* w, int64_t rows, int64_t columns, int64_t row, int64_t column, float* packed) {
  for (int64_t r = 0; r < rows; r += kRows)
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t j = r; j < std::min(r + kRows, rows); ++j) *packed++ = w[j * row + k * column];
}

/// Operation on a sum before it is stored.
enum class End { none, relu, gate };

/// R rows of out = w h for the tile h[terms][kTile]. With End::gate only where `gate`, a tile, is positive.
template <End end, int64_t R>
void product_rows(const float* HWY_RESTRICT w, int64_t terms, const float* HWY_RESTRICT h,
                  const float* HWY_RESTRICT gate, float* HWY_RESTRICT out, int64_t out_stride) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector sum[R][kVectors];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
#pragma GCC unroll 4  // of the instructions of a turn of 12 multiply-adds, counting would be a sixth
#endif
    for (int64_t k = 0; k < terms; ++k) {
      Vector in[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::Load(d, h + k * kTile + t + v * lanes);
      for (int64_t r = 0; r < R; ++r) {
        const Vector weight = hn::Set(d, w[k * R + r]);
        for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(weight, in[v], sum[r][v]);
      }
    }
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) {
        Vector z = sum[r][v];
        if constexpr (end == End::relu) z = hn::Max(hn::Zero(d), z);  // in this order a NaN stays one
        if constexpr (end == End::gate)
          z = hn::IfThenElseZero(hn::Gt(hn::Load(d, gate + r * kTile + t + v * lanes), hn::Zero(d)), z);
        hn::StoreU(z, d, out + r * out_stride + t + v * lanes);
      }
  }
}
