// transpose.cpu.08_by_size: around the caches only when the result would not stay in them anyway.
//
// CHANGE    matrices that together fill less than 8 MB take the way of 04_threads, larger ones that of the
//           parent.
// EXPECT    the fastest of its ancestors at every size.
// NUMERICS  copies bits.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kPanel = 1024;  // columns walked down together
constexpr int64_t kBatch = 64;    // columns transposed before they are written
constexpr int64_t kStep = 64;     // rows a step

#include "kernels/transpose/cpu/05_streaming-inl.h"

// Prefetches sixteen lines, one a row, into the second-level cache.
HWY_INLINE void prefetch_block(const float* in, int64_t n) {
  for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n, 0, 2);
}

// Result in the caches. Rows [i, i + rows) and columns [j_begin, j_end).
void plain_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols)
    transpose_block(x.in + i * n + j, n, x.out + j * m + i, m, rows, std::min(kCols, j_end - j));
}

#include "kernels/transpose/cpu/07_carry-inl.h"

#include "kernels/transpose/cpu/07_carry_tiles-inl.h"

KLAB_SIMD_ONCE(plain_tile, aligned_tile, any_tile);

#if HWY_ONCE
// Tiles of the matrix, and how they are numbered: along the rows first.
struct Tiling {
  int64_t rows, cols;
};
constexpr Tiling kAligned{32, 1024};  // a band; 4 kB of each input row
constexpr Tiling kAny{1024, 1024};    // long enough that the cut lines at both ends do not matter
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kBeyond = 1000000;  // elements from which on they are streamed

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool plain = m * n < kBeyond;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Tiling tiling = plain || aligned ? kAligned : kAny;
  const int64_t down = (m + tiling.rows - 1) / tiling.rows, across = (n + tiling.cols - 1) / tiling.cols;
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * tiling.rows, j = t % across * tiling.cols;
    const int64_t rows = std::min(tiling.rows, m - i), j_end = std::min(n, j + tiling.cols);
    if (plain) {
      HWY_DYNAMIC_DISPATCH(plain_tile)(x, i, rows, j, j_end);
    } else if (aligned) {
      HWY_DYNAMIC_DISPATCH(aligned_tile)(x, i, rows, j, j_end);
    } else {
      HWY_DYNAMIC_DISPATCH(any_tile)(x, i, i + rows, j, j_end);
    }
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();
    return;
  }
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();  // once a thread: the lines it streamed become visible to the others
  }
}

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "07_carry",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {256, 256}, .over_parent = 1.3},
                         .when = {{256, 256}, "what the caches keep should not be sent to memory"}});
KLAB_SIMD_CLOSE();
#endif
