// transpose.cpu.07_carry: whole lines also where the output rows begin anywhere.
//
// CHANGE    when m is no multiple of 16 every output row begins at another place within a line. A panel of
//           columns is then walked downwards, and of each output row the last sixteen elements are carried
//           from step to step, so that every line but the first and the last of a row leaves whole, by one
//           streaming store.
// EXPECT    beyond the caches and with odd sizes 1.5 times or more, no change with even ones. Not all that
//           the parent reaches there: each line makes a detour through L1, three stores in place of one.
// NUMERICS  copies bits.
// TRIED     see NOTES.md, cpu.07_carry
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

#include "kernels/transpose/cpu/07_carry-inl.h"

#include "kernels/transpose/cpu/07_carry_tiles-inl.h"

KLAB_SIMD_ONCE(aligned_tile, any_tile);

#if HWY_ONCE
// Tiles of the matrix, and how they are numbered: along the rows first.
struct Tiling {
  int64_t rows, cols;
};
constexpr Tiling kAligned{32, 1024};  // a band; 4 kB of each input row
constexpr Tiling kAny{1024, 1024};    // long enough that the cut lines at both ends do not matter
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Tiling tiling = aligned ? kAligned : kAny;
  const int64_t down = (m + tiling.rows - 1) / tiling.rows, across = (n + tiling.cols - 1) / tiling.cols;
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * tiling.rows, j = t % across * tiling.cols;
    const int64_t rows = std::min(tiling.rows, m - i), j_end = std::min(n, j + tiling.cols);
    if (aligned) {
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
                         .parent = "06_prefetch",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {4099, 4001}, .over_parent = 1.5},
                         .when = {{4099, 4001}, "rows of the result begin anywhere within a line"}});
KLAB_SIMD_CLOSE();
#endif
