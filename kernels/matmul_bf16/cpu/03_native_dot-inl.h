// The part of matmul_bf16.cpu.03_native_dot that 04_threads takes over as it is.

/// Columns [j, j + 64) of B as pairs (p, p + 1) next to each other, zeros beyond the matrix: [ceil(k/2), 64]
/// words.
KLAB_NATIVE void pack(const MatmulBf16::Args<float>& x, int64_t j, uint32_t* to) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kColumns, n - j);
  for (int64_t p = 0; p < k; p += 2, to += kColumns) {
    const Bfloat16 *even = x.b + p * n + j, *odd = even + n;
    if (p + 1 < k)
      for (int64_t s = 0; s < width; ++s) to[s] = uint32_t(even[s]) | uint32_t(odd[s]) << 16;
    else
      for (int64_t s = 0; s < width; ++s) to[s] = uint32_t(even[s]);
    std::fill(to + width, to + kColumns, 0U);
  }
}

/// Rows [i, i + rows) of C, columns [j, j + 64).
template <int rows>
KLAB_NATIVE void tile(const MatmulBf16::Args<float>& x, int64_t i, int64_t j, const uint32_t* packed) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kColumns, n - j);
  const Bfloat16* a = x.a + i * k;
  __m512 sums[rows][4];
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < 4; ++s) sums[r][s] = _mm512_setzero_ps();
  const auto pair = [&](int64_t p, auto pair_of) KLAB_NATIVE {
    __m512i b[4];
    for (int s = 0; s < 4; ++s) b[s] = _mm512_loadu_si512(packed + p / 2 * kColumns + 16 * s);
    for (int r = 0; r < rows; ++r) {
      const __m512i both = _mm512_set1_epi32(pair_of(a + r * k + p));
      for (int s = 0; s < 4; ++s)
        sums[r][s] =
            _mm512_dpbf16_ps(sums[r][s], reinterpret_cast<__m512bh>(both), reinterpret_cast<__m512bh>(b[s]));
    }
  };
  int64_t p = 0;
  for (; p + 2 <= k; p += 2)
    pair(p, [](const Bfloat16* from) {
      int32_t both;
      std::memcpy(&both, from, sizeof both);
      return both;
    });
  if (p < k) pair(p, [](const Bfloat16* from) { return int32_t(uint16_t(*from)); });
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < 4; ++s) {
      const int64_t count = std::clamp<int64_t>(width - 16 * s, 0, 16);
      _mm512_mask_storeu_ps(x.c + (i + r) * n + j + 16 * s, __mmask16((1U << count) - 1), sums[r][s]);
    }
}

/// Rows [i, end) of C, columns [j, j + 64).
void strip(const MatmulBf16::Args<float>& x, int64_t j, const uint32_t* packed, int64_t i, int64_t end) {
  for (; i + kRows <= end; i += kRows) tile<kRows>(x, i, j, packed);
  for (; i < end; ++i) tile<1>(x, i, j, packed);
}
