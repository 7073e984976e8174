// The part of matmul_int8.cpu.07_amx_blocks that 08_amx_threads takes over as it is.

/// Columns [j, j + 32) of B as fours p ... p + 3 next to each other, zeros beyond the matrix: 32 words for each four, 16 fours
/// for each product of tiles.
void pack(const Args& x, int64_t j, uint32_t* to) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kBlock, n - j);
  for (int64_t p = 0; p < (k + kDepth - 1) / kDepth * kDepth; p += 4, to += kBlock) {
    std::fill_n(to, kBlock, 0U);
    for (int64_t q = p; q < std::min(k, p + 4); ++q) {
      const int8_t* row = x.b + q * n + j;
      const int by = int(q - p) * 8;
      for (int64_t s = 0; s < width; ++s) to[s] |= uint32_t(uint8_t(row[s])) << by;
    }
  }
}

/// Up to 32 rows of C from (i, j) on.
template <class Tiles, bool lower, bool right>
void block(const Args& x, int64_t i, int64_t j, const uint32_t* packed) {
  sum_block<Tiles, lower, right>(x, i, packed);
  const int64_t m = x.shape.m, n = x.shape.n;
  const auto finish = [&](int64_t r, int64_t s, auto store) {
    alignas(64) int32_t sums[kSide * kSide];
    store(sums);
    const int64_t rows = std::min(kSide, m - i - r), columns = std::min(kSide, n - j - s);
    const float* scale = x.scale + j + s;
    for (int64_t y = 0; y < rows; ++y) {
      float* c = x.c + (i + r + y) * n + j + s;
      for (int64_t z = 0; z < columns; ++z) c[z] = float(sums[y * kSide + z]) * scale[z];
    }
  };
  finish(0, 0, [](int32_t* to) { Tiles::template store<0>(to, 64); });
  if constexpr (right) finish(0, kSide, [](int32_t* to) { Tiles::template store<1>(to, 64); });
  if constexpr (lower) finish(kSide, 0, [](int32_t* to) { Tiles::template store<2>(to, 64); });
  if constexpr (lower && right) finish(kSide, kSide, [](int32_t* to) { Tiles::template store<3>(to, 64); });
}
