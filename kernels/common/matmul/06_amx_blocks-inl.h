// The part of matmul_bf16.cpu.06_amx_blocks that 07_amx_threads, 08_amx_panels and matmul_int8.cpu.07_amx_blocks, 08_amx_threads take
// over as it is.

constexpr int64_t kSide = 16, kBlock = 2 * kSide;  // rows and columns of a tile of sums, of a block of four
constexpr int64_t kPerWord = 4 / int64_t(sizeof(Factor));  // factors in a word
constexpr int64_t kDepth = kSide * kPerWord;               // depths of a product of tiles

/// Up to 32 rows of A from (i, p) on, with zeros beyond k.
void pad(const Args& x, int64_t i, int64_t rows, int64_t p, Factor* to) {
  const int64_t k = x.shape.k;
  std::fill_n(to, kBlock * kDepth, Factor{});
  for (int64_t r = 0; r < rows; ++r) std::copy(x.a + (i + r) * k + p, x.a + (i + r + 1) * k, to + r * kDepth);
}

/// Adds the products of depths p and on, one tile of them, to tiles 0 to 3, sums of up to 32 rows of C from i on; 4 and 5 are of A, 6
/// and 7 of B. The lower and the right half may be missing.
template <class Tiles, bool lower, bool right>
void add_products(const Args& x, int64_t i, int64_t p, const uint32_t* packed) {
  const int64_t m = x.shape.m, k = x.shape.k;
  alignas(64) Factor rest[kBlock * kDepth];
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

template <class Tiles, bool lower, bool right>
void zero_sums() {
  Tiles::template zero<0>();
  if constexpr (right) Tiles::template zero<1>();
  if constexpr (lower) Tiles::template zero<2>();
  if constexpr (lower && right) Tiles::template zero<3>();
}

/// Tiles 0 to 3 become the sums of up to 32 rows of C from i on.
template <class Tiles, bool lower, bool right>
void sum_block(const Args& x, int64_t i, const uint32_t* packed) {
  zero_sums<Tiles, lower, right>();
  for (int64_t p = 0; p < x.shape.k; p += kDepth) add_products<Tiles, lower, right>(x, i, p, packed);
}

/// Configures the tiles of a block of up to 32 rows and columns.
template <class Tiles>
void configure(int64_t rows, int64_t columns) {
  const int64_t upper = std::min(kSide, rows), lower = rows - upper, left = std::min(kSide, columns),
                right = columns - left;
  Tiles::configure(tiles::shapes({{upper, 4 * left},
                                  {right > 0 ? upper : 0, 4 * right},
                                  {lower, lower > 0 ? 4 * left : 0},
                                  {right > 0 ? lower : 0, lower > 0 ? 4 * right : 0},
                                  {upper, 64},
                                  {lower, lower > 0 ? 64 : 0},
                                  {kSide, 4 * left},
                                  {right > 0 ? kSide : 0, 4 * right}}));
}

template <class Tiles, bool lower, bool right>
void block(const Args& x, int64_t i, int64_t j, const uint32_t* packed);

/// Rows [i, end) of C, columns [j, j + 32). Configures the tiles where a block has other rows than the one before it.
template <class Tiles>
void strip(const Args& x, int64_t j, const uint32_t* packed, int64_t i, int64_t end) {
  const int64_t columns = std::min(kBlock, x.shape.n - j);
  const bool right = columns > kSide;
  for (int64_t configured = 0; i < end; i += kBlock) {
    const int64_t rows = std::min(kBlock, end - i);
    if (rows != configured) configure<Tiles>(rows, columns);
    configured = rows;
    if (rows > kSide)
      right ? block<Tiles, true, true>(x, i, j, packed) : block<Tiles, true, false>(x, i, j, packed);
    else
      right ? block<Tiles, false, true>(x, i, j, packed) : block<Tiles, false, false>(x, i, j, packed);
  }
}
