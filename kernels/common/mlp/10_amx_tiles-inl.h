// The part of mlp_fwd.cpu.10_amx_tiles that mlp_bwd.cpu.10_amx_tiles and mlp_narrow_fwd.cpu.04_amx_tiles take over as it is.

/// Numbers of a packed matrix, which has zeros up to whole tiles.
constexpr int64_t packed_size(int64_t rows, int64_t columns) { return deep(rows) * deep(columns); }

/// Packs a matrix m(j, k) = w[j·row + k·column] as rows of bfloat16s.
void pack_rows(const float* w, int64_t rows, int64_t columns, int64_t row, int64_t column, uint16_t* to) {
  std::fill_n(to, packed_size(rows, columns), uint16_t{0});
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t k = 0; k < columns; ++k)
      to[j * deep(columns) + k] = bfloat16_from_float(w[j * row + k * column]);
}

/// Computes all `rows` rows of W h, h of `terms` channels; `sums` is memory for one block of rows. Meanwhile prefetches.
template <class Tiles, End end>
void layer(const uint16_t* w, int64_t rows, int64_t terms, const Tile& h, const Target& to, float* sums,
           Ahead& ahead) {
  constexpr int64_t kSoon = 20;  // rows that are requested for each block
  for (int64_t r = 0; r < rows; r += kBlock, w += kBlock * deep(terms)) {
    ahead.step(kSoon);
    block_of_rows<Tiles, Factor::bf16>(w, rows - r, 2 * deep(terms), h.by_channels, sums);
    end_rows<end>(sums, std::min(kBlock, rows - r), r, to);
  }
  if constexpr (end != End::plain) clear_rest(to.tile, rows);
}
