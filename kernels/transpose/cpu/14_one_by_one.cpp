// transpose.cpu.14_one_by_one: requests keep a distance.
//
// CHANGE    loops that prefetch lines are kept loops, in place of sixteen prefetches in a row that compilers
//           make of them. Where rows begin anywhere, lines are prefetched into L1 in place of L2.
// EXPECT    1.05 times or more beyond the caches where rows do not meet: a core can wait for two dozen lines
//           or so, those that its own prefetchers prefetch among them. Sixteen in one cycle or two fill that
//           room; the next load has to wait, and prefetchers drop their next requests. An addition and a
//           branch between two requests are enough.
// NUMERICS  copies bits.
// NEEDS     as its parent.
// TRIED     see NOTES.md, cpu.14_one_by_one
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/transpose/turn_cut.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose/buffered-inl.h"
#include "kernels/common/transpose/lines-inl.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kRun = 64;  // columns of a row that are prefetched together

// Prefetches sixteen lines, one a row. Not unrolled, here and below: see CHANGE.
struct AskBlock {
  HWY_INLINE void operator()(const float* in, int64_t n) const {
#pragma GCC unroll 1
    for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n);
  }
};

// Blocks are numbered within kRun columns of a step; each prefetches its share of the rows of the next run,
// which begins at `in` and has `rows` rows.
HWY_INLINE void prefetch_share(const float* in, int64_t n, int64_t rows, int64_t block) {
  constexpr int64_t kShare = kStep / ((kRun / 16) * (kStep / 16));
#pragma GCC unroll 1
  for (int64_t r = block * kShare; r < std::min(rows, (block + 1) * kShare); ++r)
#pragma GCC unroll 1
    for (int64_t c = 0; c < kRun; c += 16) __builtin_prefetch(in + r * n + c);
}

// Every row of `out` begins on a line. Rows [i, i + rows) and columns [j_begin, j_end).
void aligned_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    const int64_t cols = std::min(kCols, j_end - j);
    const float* in = x.in + i * n + j;
    float* out = x.out + j * m + i;
    // Past the end of the rows the walk goes on at the beginning of the next band.
    const int64_t run = j - (j - j_begin) % kRun + kRun;
    const float* next = run < n ? x.in + i * n + run : x.in + (i + rows) * n;
    const int64_t known = run < n ? rows : std::min(rows, m - i - rows);
    for (int64_t r = 0; r < rows; r += 16) {
      prefetch_share(next, n, known, (j - j_begin) % kRun / 16 * (kStep / 16) + r / 16);
      stream_block(in + r * n, n, out + r, m, cols);
    }
  }
}

// Any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end).
void any_rows(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin,
              int64_t j_end) {
  any_tile(x, i_begin, i_end, j_begin, j_end, AskBlock());
}

KLAB_SIMD_END(plain_tile, aligned_tile, buffered_tiles, any_rows);

#if HWY_ONCE
namespace klab {
namespace {

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const bool plain = m * n < kBeyond;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  const Cut cut = plain || aligned ? kBands : panels(m, n, omp_get_max_threads());
  const int64_t down = ceil_div(m, cut.rows), across = ceil_div(n, cut.cols);
  const auto one = [&](int64_t t) {
    const int64_t i = t / across * cut.rows, j = t % across * cut.cols;
    const int64_t rows = std::min(cut.rows, m - i), j_end = std::min(n, j + cut.cols);
    if (plain) {
      HWY_DYNAMIC_DISPATCH(plain_tile)(x, i, rows, j, j_end);
    } else if (aligned) {
      HWY_DYNAMIC_DISPATCH(aligned_tile)(x, i, rows, j, j_end);
    } else {
      HWY_DYNAMIC_DISPATCH(any_rows)(x, i, i + rows, j, j_end);
    }
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < down * across; ++t) one(t);
    hwy::FlushStream();
    return;
  }
  if (aligned && !plain && n % kCols == 0) {
#pragma omp parallel
    {
      static thread_local Scratch scratch;
      const int64_t tiles = Tiling{m, n}.tiles(), threads = omp_get_num_threads(), me = omp_get_thread_num();
      HWY_DYNAMIC_DISPATCH(buffered_tiles)
      (x, tiles * me / threads, tiles * (me + 1) / threads, scratch.floats(2 * kRows * kPitch));
      hwy::FlushStream();
    }
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
                         .parent = "13_long_runs",
                         .tiles = {16, 32, 64, 256, 512, 1024},
                         .expect = {.shape = {4099, 4001}, .over_parent = 1.05},
                         .when = {{4099, 4001}, "requests in a burst fill the room for misses"}});

}  // namespace
}  // namespace klab
#endif
