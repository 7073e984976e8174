// transpose.cpu.04_threads: the bands shared among the threads.
//
// CHANGE    every thread takes a contiguous share of the tiles; a tile is a band of 32 rows and up to 1024
//           columns.
// EXPECT    about the number of cores in cache; beyond it, until the memory is busy.
// NUMERICS  copies bits.
// NEEDS     nothing. Small matrices stay on one thread: waking a team takes longer than they do.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

// Rows [i, i + rows) and columns [j_begin, j_end).
void tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols)
    transpose_block(x.in + i * n + j, n, x.out + j * m + i, m, rows, std::min(kCols, j_end - j));
}

KLAB_SIMD_ONCE(tile);

#if HWY_ONCE
constexpr int64_t kBand = 32;         // rows
constexpr int64_t kTileCols = 1024;   // 4 kB of each input row
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const int64_t bands = (m + kBand - 1) / kBand, tiles = (n + kTileCols - 1) / kTileCols;
  const auto one = [&](int64_t t) {
    const int64_t i = t / tiles * kBand, j = t % tiles * kTileCols;
    HWY_DYNAMIC_DISPATCH(tile)(x, i, std::min(kBand, m - i), j, std::min(n, j + kTileCols));
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < bands * tiles; ++t) one(t);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < bands * tiles; ++t) one(t);
}

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "03_simd_blocks",
                         .tiles = {16, 32, 1024},
                         .expect = {.shape = {256, 256}, .over_parent = 1.4}});
KLAB_SIMD_CLOSE();
#endif
