// The part of matmul_bf16.cpu.06_amx_blocks that 07_amx_threads and matmul_int8.cpu.07_amx_blocks, 08_amx_threads take over as it is.

constexpr int64_t kSide = 16, kBlock = 2 * kSide;  // rows and columns of a tile of sums, of a block of four
constexpr int64_t kPerWord = 4 / int64_t(sizeof(Factor));  // factors in a word
constexpr int64_t kDepth = kSide * kPerWord;               // depths of a product of tiles

/// Up to 32 rows of A from (i, p) on, with zeros beyond k.
void pad(const Args& x, int64_t i, int64_t rows, int64_t p, Factor* to) {
  const int64_t k = x.shape.k;
  std::fill_n(to, kBlock * kDepth, Factor{});
  for (int64_t r = 0; r < rows; ++r) std::copy(x.a + (i + r) * k + p, x.a + (i + r + 1) * k, to + r * kDepth);
}

/// Tiles 0 to 3 become the sums of up to 32 rows of C from (i, j) on; 4 and 5 are of A, 6 and 7 of B. The lower and the right
/// half may be missing.
template <class Tiles, bool lower, bool right>
void sum_block(const Args& x, int64_t i, const uint32_t* packed) {
  const int64_t m = x.shape.m, k = x.shape.k;
  alignas(64) Factor rest[kBlock * kDepth];
  Tiles::template zero<0>();
  if constexpr (right) Tiles::template zero<1>();
  if constexpr (lower) Tiles::template zero<2>();
  if constexpr (lower && right) Tiles::template zero<3>();
  for (int64_t p = 0; p < k; p += kDepth) {
    const Factor* a = x.a + i * k + p;
    int64_t stride = k;
    if (p + kDepth > k) {
      pad(x, i, std::min(kBlock, m - i), p, rest);
      a = rest;
      stride = kDepth;
    }
    const int64_t row = stride * int64_t(sizeof(Factor));  // bytes
    const uint32_t* b = packed + p / kPerWord * kBlock;
    Tiles::template load<4>(a, row);
    Tiles::template load<6>(b, 4 * kBlock);
    dot<Tiles, 0, 4, 6>();
    if constexpr (right) {
      Tiles::template load<7>(b + kSide, 4 * kBlock);
      dot<Tiles, 1, 4, 7>();
    }
    if constexpr (lower) {
      Tiles::template load<5>(a + kSide * stride, row);
      dot<Tiles, 2, 5, 6>();
    }
    if constexpr (lower && right) dot<Tiles, 3, 5, 7>();
  }
}

template <class Tiles, bool lower, bool right>
void block(const Args& x, int64_t i, int64_t j, const uint32_t* packed);

/// Rows [i, end) of C, columns [j, j + 32). Configures the tiles where a block has other rows than the one before it.
template <class Tiles>
void strip(const Args& x, int64_t j, const uint32_t* packed, int64_t i, int64_t end) {
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
