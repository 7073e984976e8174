// The part of matmul_int8.cpu.07_amx_blocks that 08_amx_threads takes over as it is.
//
// Included in place, inside the namespaces of a rung: no guard, and no namespace of its own.

/// Columns [j, j + 32) of B as fours p ... p + 3 next to each other, zeros beyond the matrix: 32 words for each four, 16 fours
/// for each product of tiles.
void pack(const MatmulInt8::Args<float>& x, int64_t j, uint32_t* to) {
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

/// Up to 32 rows of A from (i, p) on, with zeros beyond k.
void pad(const MatmulInt8::Args<float>& x, int64_t i, int64_t rows, int64_t p, int8_t* to) {
  const int64_t k = x.shape.k;
  std::fill_n(to, kBlock * kDepth, int8_t{});
  for (int64_t r = 0; r < rows; ++r) std::copy(x.a + (i + r) * k + p, x.a + (i + r + 1) * k, to + r * kDepth);
}

/// Up to 32 rows of C from (i, j) on: tiles 0 to 3 are its sums, 4 and 5 of A, 6 and 7 of B. The lower and the right half may
/// be missing.
template <class Tiles, bool lower, bool right>
void block(const MatmulInt8::Args<float>& x, int64_t i, int64_t j, const uint32_t* packed) {
  const auto [m, n, k] = x.shape;
  alignas(64) int8_t rest[kBlock * kDepth];
  Tiles::template zero<0>();
  if constexpr (right) Tiles::template zero<1>();
  if constexpr (lower) Tiles::template zero<2>();
  if constexpr (lower && right) Tiles::template zero<3>();
  for (int64_t p = 0; p < k; p += kDepth) {
    const int8_t* a = x.a + i * k + p;
    int64_t stride = k;
    if (p + kDepth > k) {
      pad(x, i, std::min(kBlock, m - i), p, rest);
      a = rest;
      stride = kDepth;
    }
    const uint32_t* b = packed + p / 4 * kBlock;
    Tiles::template load<4>(a, stride);
    Tiles::template load<6>(b, 4 * kBlock);
    Tiles::template dot_ss<0, 4, 6>();
    if constexpr (right) {
      Tiles::template load<7>(b + kSide, 4 * kBlock);
      Tiles::template dot_ss<1, 4, 7>();
    }
    if constexpr (lower) {
      Tiles::template load<5>(a + kSide * stride, stride);
      Tiles::template dot_ss<2, 5, 6>();
    }
    if constexpr (lower && right) Tiles::template dot_ss<3, 5, 7>();
  }
  const auto finish = [&, m = m, n = n](int64_t r, int64_t s, auto store) {
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

/// Rows [i, end) of C, columns [j, j + 32). Configures the tiles where a block has other rows than the one before it.
template <class Tiles>
void strip(const MatmulInt8::Args<float>& x, int64_t j, const uint32_t* packed, int64_t i, int64_t end) {
  const int64_t columns = std::min(kBlock, x.shape.n - j), left = std::min(kSide, columns),
                right = columns - left;
  for (int64_t configured = 0; i < end; i += kBlock) {
    const int64_t rows = std::min(kBlock, end - i), upper = std::min(kSide, rows), lower = rows - upper;
    if (rows != configured)
      Tiles::configure(tiles::shapes({{upper, 4 * left},
                                      {right > 0 ? upper : 0, 4 * right},
                                      {lower, lower > 0 ? 4 * left : 0},
                                      {right > 0 ? lower : 0, lower > 0 ? 4 * right : 0},
                                      {upper, 64},
                                      {lower, lower > 0 ? 64 : 0},
                                      {kSide, 4 * left},
                                      {right > 0 ? kSide : 0, 4 * right}}));
    configured = rows;
    if (lower > 0)
      right > 0 ? block<Tiles, true, true>(x, i, j, packed) : block<Tiles, true, false>(x, i, j, packed);
    else
      right > 0 ? block<Tiles, false, true>(x, i, j, packed) : block<Tiles, false, false>(x, i, j, packed);
  }
}
