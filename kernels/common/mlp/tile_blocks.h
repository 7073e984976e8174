// Blocks of 2 x 2 tiles of sums for small networks: a layer's matrix times 64 samples (matmul_bf16.cpu.06_amx_blocks explains them).
//
// The left factor is rows of W, bfloat16s or bytes, with zeros up to whole tiles. The right one has a word for each sample in a row: two
// channels or four, those that one product adds. All tiles are whole:
//
//   Tiles::configure(whole_tiles());
//   block_of_rows<Tiles, Factor::bf16>(w, rows, bytes_of_a_row, words, sums);
#pragma once

#include <cstdint>

#include "kernels/common/tiles.h"

namespace klab::mlp_tiles {

constexpr int64_t kSide = 16;                // rows of a tile, and words of a row
constexpr int64_t kBlock = 2 * kSide;        // rows and columns of a block of four tiles of sums
constexpr int64_t kTileBytes = 4 * kSide;    // of a row of a tile
constexpr int64_t kSamples = 64;             // words, or sums, of a row
constexpr int64_t kRowBytes = 4 * kSamples;  // of such a row

/// What a word of both factors holds: two bfloat16s, or four bytes with a sign.
enum class Factor { bf16, bytes };

/// Returns the shapes: tiles 0 to 3 are sums, 4 and 5 of the left factor, 6 and 7 of the right, `rows` high.
inline tiles::Config whole_tiles(int64_t rows = kSide) {
  const tiles::Shape whole{rows, kTileBytes};
  return tiles::shapes({whole, whole, whole, whole, whole, whole, whole, whole});
}

template <class Tiles, Factor factor, int sums, int left, int right>
void dot() {
  if constexpr (factor == Factor::bf16)
    Tiles::template dot_bf16<sums, left, right>();
  else
    Tiles::template dot_ss<sums, left, right>();
}

/// Adds a product to the sums: two tiles of the left factor, `half` bytes apart, or one without `lower`, and two of the right, side by
/// side.
template <class Tiles, Factor factor, bool lower>
void multiply_add(const void* left, int64_t left_stride, int64_t half, const uint32_t* right,
                  int64_t right_stride) {
  Tiles::template load<4>(left, left_stride);
  Tiles::template load<6>(right, right_stride);
  Tiles::template load<7>(right + kSide, right_stride);
  dot<Tiles, factor, 0, 4, 6>();
  dot<Tiles, factor, 1, 4, 7>();
  if constexpr (lower) {
    Tiles::template load<5>(static_cast<const char*>(left) + half, left_stride);
    dot<Tiles, factor, 2, 5, 6>();
    dot<Tiles, factor, 3, 5, 7>();
  }
}

/// Sets the sums to zero.
template <class Tiles, bool lower>
void zero_sums() {
  Tiles::template zero<0>();
  Tiles::template zero<1>();
  if constexpr (lower) Tiles::template zero<2>();
  if constexpr (lower) Tiles::template zero<3>();
}

/// Stores the sums to [rows][kSamples].
template <class Tiles, bool lower>
void store_sums(void* to) {
  char *const upper = static_cast<char*>(to), *const below = upper + kSide * kRowBytes;
  Tiles::template store<0>(upper, kRowBytes);
  Tiles::template store<1>(upper + kTileBytes, kRowBytes);
  if constexpr (lower) Tiles::template store<2>(below, kRowBytes);
  if constexpr (lower) Tiles::template store<3>(below + kTileBytes, kRowBytes);
}

/// Computes 32 rows of W h, or 16 without `lower`, for 32 samples: sums [rows][kSamples]. Rows of W have `row` bytes.
template <class Tiles, Factor factor, bool lower>
void block(const char* w, int64_t row, const uint32_t* h, void* sums) {
  zero_sums<Tiles, lower>();
  for (int64_t b = 0; b < row; b += kTileBytes, h += kSide * kSamples)
    multiply_add<Tiles, factor, lower>(w + b, row, kSide * row, h, kRowBytes);
  store_sums<Tiles, lower>(sums);
}

/// Computes the first 32 rows of W h, or 16 where that is enough for `rows`, for 64 samples.
template <class Tiles, Factor factor>
void block_of_rows(const void* w, int64_t rows, int64_t row, const uint32_t* h, void* sums) {
  const char* const first = static_cast<const char*>(w);
  char* const to = static_cast<char*>(sums);
  for (int64_t t = 0; t < kSamples; t += kBlock)
    rows > kSide ? block<Tiles, factor, true>(first, row, h + t, to + 4 * t)
                 : block<Tiles, factor, false>(first, row, h + t, to + 4 * t);
}

}  // namespace klab::mlp_tiles
