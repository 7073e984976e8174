// The part of compact.cpu.03_simd that 04_threads takes over as it is.

// out[r, c] = in[c·ld + r]: reads along r and writes along c, in blocks that keep both in L1. `pitch` is the
// distance of the rows of `out`.
void transpose_rows(const float* in, int64_t ld, float* out, int64_t pitch, int64_t rows, int64_t cols) {
  constexpr int64_t kRows = 16, kCols = 32;
  for (int64_t c = 0; c < cols; c += kCols)
    for (int64_t r = 0; r < rows; r += kRows)
      transpose_block(in + c * ld + r, ld, out + r * pitch + c, pitch, std::min(kCols, cols - c),
                      std::min(kRows, rows - r));
}

// One row of any stride.
void row(const float* from, int64_t stride, float* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t k = 0;
  if (stride == 1) {
    for (; k + lanes <= count; k += lanes) hn::StoreU(hn::LoadU(d, from + k), d, to + k);
  } else if (stride == 0) {
    const auto value = hn::Set(d, count > 0 ? *from : 0.0F);
    for (; k + lanes <= count; k += lanes) hn::StoreU(value, d, to + k);
  }
  for (; k < count; ++k) to[k] = from[k * stride];
}

// Rows [j, j_end) of the middle dimension of slice i.
void slice(const Compact::Args<float>& x, int64_t i, int64_t j, int64_t j_end) {
  const Compact::Shape& s = x.shape;
  const float* from = x.base + s.offset + i * s.s0;
  float* to = x.out + i * s.d1 * s.d2;
  if (s.s1 == 1 && s.s2 > 1) return transpose_rows(from + j, s.s2, to + j * s.d2, s.d2, j_end - j, s.d2);
  for (; j < j_end; ++j) row(from + j * s.s1, s.s2, to + j * s.d2, s.d2);
}

// Rows [i, i_end) of the outermost dimension at middle index j: the view is transposed between those two.
void section(const Compact::Args<float>& x, int64_t j, int64_t i, int64_t i_end) {
  const Compact::Shape& s = x.shape;
  transpose_rows(x.base + s.offset + i + j * s.s1, s.s2, x.out + (i * s.d1 + j) * s.d2, s.d1 * s.d2,
                 i_end - i, s.d2);
}
