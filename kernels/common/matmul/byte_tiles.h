// Products of matrices whose factors are bytes: a block's tiles in shared memory, and a warp's share by tensor cores.
#pragma once

#include "kernels/common/cuda.h"

namespace klab {

struct ByteTiles {
  static constexpr int kTile = 64, kDepth = 64, kWords = kDepth / 4;
  unsigned a[kTile][kWords + 1];  // [row][four depths]; a word more a row, so that rows begin in other banks
  unsigned b[kTile][kWords + 1];  // [column][four depths]
};

/// Returns a byte of a matrix as the low byte of a word, 0 beyond the matrix.
template <class Byte>
__device__ __forceinline__ unsigned byte_at(const Byte* __restrict__ matrix, int64_t row, int64_t height,
                                            int64_t column, int64_t width) {
  return row < height && column < width ? unsigned(matrix[row * width + column]) & 255U : 0;
}

/// Loads four depths of a row of A into a word, and of a column of B: B is transposed on its way. `whole`:
/// rows of A are whole words.
template <int kThreads, class Byte>
__device__ __forceinline__ void bring(ByteTiles& tiles, const Byte* __restrict__ a,
                                      const Byte* __restrict__ b, int64_t m, int64_t n, int64_t k, int64_t i0,
                                      int64_t j0, int64_t p0, bool whole) {
  constexpr int kTile = ByteTiles::kTile, kWords = ByteTiles::kWords;
  for (int e = int(threadIdx.x); e < kTile * kWords; e += kThreads) {
    const int r = e / kWords, w = e % kWords;
    const int64_t row = i0 + r, p = p0 + 4 * w;
    if (whole && row < m && p < k) {
      tiles.a[r][w] = *reinterpret_cast<const unsigned*>(a + row * k + p);
      continue;
    }
    unsigned word = 0;
    for (int q = 0; q < 4; ++q) word |= byte_at(a, row, m, p + q, k) << (8 * q);
    tiles.a[r][w] = word;
  }
  for (int e = int(threadIdx.x); e < kTile * kWords; e += kThreads) {
    const int s = e % kTile, w = e / kTile;  // neighbors read neighbors of a row of B
    unsigned word = 0;
    for (int q = 0; q < 4; ++q) word |= byte_at(b, p0 + 4 * w + q, k, j0 + s, n) << (8 * q);
    tiles.b[s][w] = word;
  }
}

/// The share of a block's tile that one of its four warps computes: 32 x 32, in instructions of 16 x 8.
struct ByteWarp {
  static constexpr int kSide = 32, kRows = 16, kColumns = 8;
  static constexpr int kDown = kSide / kRows, kAcross = kSide / kColumns;  // instructions
};

/// Adds to a warp's sums the products of the tiles' depths, of rows and columns from these on: `multiply(sum, a, b)` is an
/// mma.m16n8k32. A lane's registers are whole words of the tiles.
template <class Sum, class Multiply>
__device__ __forceinline__ void multiply_tiles(Sum (&sums)[ByteWarp::kDown][ByteWarp::kAcross][4],
                                               const ByteTiles& tiles, int row, int column,
                                               Multiply multiply) {
  constexpr int kDown = ByteWarp::kDown, kAcross = ByteWarp::kAcross, kRows = ByteWarp::kRows,
                kColumns = ByteWarp::kColumns;
  const int lane = int(threadIdx.x) % 32, group = lane / 4, in = lane % 4;
  for (int w = 0; w < ByteTiles::kWords; w += 8) {  // 32 depths
    uint32_t of_b[kAcross][2];
#pragma unroll
    for (int s = 0; s < kAcross; ++s) {
      of_b[s][0] = tiles.b[column + s * kColumns + group][w + in];
      of_b[s][1] = tiles.b[column + s * kColumns + group][w + in + 4];
    }
#pragma unroll
    for (int r = 0; r < kDown; ++r) {
      const int at = row + r * kRows + group;
      const uint32_t of_a[4] = {tiles.a[at][w + in], tiles.a[at + 8][w + in], tiles.a[at][w + in + 4],
                                tiles.a[at + 8][w + in + 4]};
#pragma unroll
      for (int s = 0; s < kAcross; ++s) multiply(sums[r][s], of_a, of_b[s]);
    }
  }
}

}  // namespace klab
