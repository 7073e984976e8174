// Transposes a matrix of bytes, for instructions that take bytes only where both factors lie along the sum.
#pragma once

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kTurnThreads = 256, kTurnRows = 128, kTurnColumns = 64;  // of a block's part of `from`

/// Returns four neighbors of a row, the lowest first, zeros beyond the matrix. `words`: rows begin at multiples of 4 bytes.
__device__ __forceinline__ unsigned four_bytes(const uint8_t* __restrict__ from, int64_t rows,
                                               int64_t columns, int64_t i, int64_t j, bool words) {
  if (i >= rows || j >= columns) return 0;
  const uint8_t* p = from + i * columns + j;
  if (words) return *reinterpret_cast<const unsigned*>(p);
  unsigned word = 0;
  for (int e = 0; e < 4 && j + e < columns; ++e) word |= unsigned(p[e]) << (8 * e);
  return word;
}

/// to[columns, stride] = from[rows, columns]^T, zeros behind the rows; stride is a multiple of 4. A thread transposes 4 x 4
/// bytes in registers, so that words go to shared memory and from there to memory.
__global__ void __launch_bounds__(kTurnThreads)
    transpose_bytes(const uint8_t* __restrict__ from, int64_t rows, int64_t columns, int64_t stride,
                    int64_t across, bool words, uint8_t* __restrict__ to) {
  constexpr int row_words = kTurnRows / 4, column_words = kTurnColumns / 4;
  __shared__ unsigned turned[kTurnColumns][row_words + 1];
  const int64_t i0 = blockIdx.x / across * kTurnRows, j0 = blockIdx.x % across * kTurnColumns;
  for (int e = int(threadIdx.x); e < row_words * column_words; e += kTurnThreads) {
    const int down = e / column_words, right = e % column_words;
    unsigned r[4];
#pragma unroll
    for (int q = 0; q < 4; ++q)
      r[q] = four_bytes(from, rows, columns, i0 + down * 4 + q, j0 + right * 4, words);
    const unsigned low01 = __byte_perm(r[0], r[1], 0x5140), high01 = __byte_perm(r[0], r[1], 0x7362);
    const unsigned low23 = __byte_perm(r[2], r[3], 0x5140), high23 = __byte_perm(r[2], r[3], 0x7362);
    turned[right * 4][down] = __byte_perm(low01, low23, 0x5410);
    turned[right * 4 + 1][down] = __byte_perm(low01, low23, 0x7632);
    turned[right * 4 + 2][down] = __byte_perm(high01, high23, 0x5410);
    turned[right * 4 + 3][down] = __byte_perm(high01, high23, 0x7632);
  }
  __syncthreads();
  for (int e = int(threadIdx.x); e < kTurnColumns * row_words; e += kTurnThreads) {
    const int64_t j = j0 + e / row_words, i = i0 + e % row_words * 4;
    if (j < columns && i < stride)
      *reinterpret_cast<unsigned*>(to + j * stride + i) = turned[e / row_words][e % row_words];
  }
}

/// The copy has columns rows of `stride` bytes, a multiple of 4 that is at least `rows`.
inline void turn_bytes(const uint8_t* from, int64_t rows, int64_t columns, int64_t stride, uint8_t* to) {
  const int64_t down = (stride + kTurnRows - 1) / kTurnRows,
                across = (columns + kTurnColumns - 1) / kTurnColumns;
  if (down * across == 0) return;
  cuda::launch(transpose_bytes, dim3(unsigned(down * across)), dim3(kTurnThreads), 0, from, rows, columns,
               stride, across, columns % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 4 == 0, to);
}

}  // namespace
}  // namespace klab
