// The part of matmul_bf16.cpu.06_amx_blocks that 07_amx_threads and 08_amx_panels take over as it is.

/// Columns [j, j + 32) of B as pairs (p, p + 1) next to each other, zeros beyond the matrix: 32 words for each pair, 16 pairs for
/// each product of tiles.
void pack(const Args& x, int64_t j, uint32_t* to) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kBlock, n - j);
  for (int64_t p = 0; p < (k + kDepth - 1) / kDepth * kDepth; p += 2, to += kBlock) {
    const Bfloat16 *even = x.b + p * n + j, *odd = even + n;
    std::fill_n(to, kBlock, 0U);
    if (p + 1 < k)
      for (int64_t s = 0; s < width; ++s) to[s] = uint32_t(even[s]) | uint32_t(odd[s]) << 16;
    else if (p < k)
      for (int64_t s = 0; s < width; ++s) to[s] = uint32_t(even[s]);
  }
}

/// Stores the sums, whose rows are n floats apart, at c.
template <class Tiles, bool lower, bool right>
void store_sums(float* c, int64_t n) {
  Tiles::template store<0>(c, 4 * n);
  if constexpr (right) Tiles::template store<1>(c + kSide, 4 * n);
  if constexpr (lower) Tiles::template store<2>(c + kSide * n, 4 * n);
  if constexpr (lower && right) Tiles::template store<3>(c + kSide * n + kSide, 4 * n);
}

/// Up to 32 rows of C from (i, j) on.
template <class Tiles, bool lower, bool right>
void block(const Args& x, int64_t i, int64_t j, const uint32_t* packed) {
  sum_block<Tiles, lower, right>(x, i, packed);
  store_sums<Tiles, lower, right>(x.c + i * x.shape.n + j, x.shape.n);
}
