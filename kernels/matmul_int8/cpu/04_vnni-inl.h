// The part of matmul_int8.cpu.04_vnni that 05_threads takes over as it is.

/// Columns [j, j + 64) of B as fours p ... p + 3 next to each other, zeros beyond the matrix: [ceil(k/4), 64]
/// words. `shift`: 128 times the sum of each column, which an unsigned A adds to a product.
KLAB_NATIVE void pack(const MatmulInt8::Args<float>& x, int64_t j, uint32_t* to, int32_t* shift) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kColumns, n - j);
  std::fill(shift, shift + kColumns, 0);
  for (int64_t p = 0; p < k; p += 4, to += kColumns) {
    std::fill(to, to + kColumns, 0U);
    for (int64_t q = p; q < std::min(k, p + 4); ++q) {
      const int8_t* row = x.b + q * n + j;
      const int by = int(q - p) * 8;
      for (int64_t s = 0; s < width; ++s) to[s] |= uint32_t(uint8_t(row[s])) << by;
      for (int64_t s = 0; s < width; ++s) shift[s] += 128 * row[s];
    }
  }
}

/// Rows [i, i + rows) of C, columns [j, j + 64).
template <int rows>
KLAB_NATIVE void tile(const MatmulInt8::Args<float>& x, int64_t i, int64_t j, const uint32_t* packed,
                      const int32_t* shift) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kColumns, n - j);
  const int8_t* a = x.a + i * k;
  __m512i sums[rows][4];
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < 4; ++s) sums[r][s] = _mm512_setzero_si512();
  const auto four = [&](int64_t p, int64_t count) KLAB_NATIVE {
    __m512i b[4];
    for (int s = 0; s < 4; ++s) b[s] = _mm512_loadu_si512(packed + p / 4 * kColumns + 16 * s);
    for (int r = 0; r < rows; ++r) {
      uint32_t word = 0;
      std::memcpy(&word, a + r * k + p, size_t(count));
      const __m512i all = _mm512_set1_epi32(int32_t(word ^ 0x80808080U));  // a + 128, unsigned
      for (int s = 0; s < 4; ++s) sums[r][s] = _mm512_dpbusd_epi32(sums[r][s], all, b[s]);
    }
  };
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) four(p, 4);
  if (p < k) four(p, k - p);
  for (int s = 0; s < 4; ++s) {
    const int64_t count = std::clamp<int64_t>(width - 16 * s, 0, 16);
    const auto mask = __mmask16((1U << count) - 1);
    const __m512 scale = _mm512_maskz_loadu_ps(mask, x.scale + j + 16 * s);
    const __m512i too_much = _mm512_loadu_si512(shift + 16 * s);
    for (int r = 0; r < rows; ++r) {
      const __m512 sum = _mm512_maskz_cvtepi32_ps(mask, _mm512_sub_epi32(sums[r][s], too_much));
      _mm512_mask_storeu_ps(x.c + (i + r) * n + j + 16 * s, mask, _mm512_mul_ps(sum, scale));
    }
  }
}

/// Rows [i, end) of C, columns [j, j + 64).
void strip(const MatmulInt8::Args<float>& x, int64_t j, const uint32_t* packed, const int32_t* shift,
           int64_t i, int64_t end) {
  for (; i + kRows <= end; i += kRows) tile<kRows>(x, i, j, packed, shift);
  for (; i < end; ++i) tile<1>(x, i, j, packed, shift);
}
