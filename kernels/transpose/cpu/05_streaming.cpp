// transpose.cpu.05_streaming: whole lines written around the caches.
//
// CHANGE    where all output rows begin on a line (m a multiple of 16, `out` aligned), sixteen rows at a
//           time are transposed and stored with streaming stores, a whole line of 64 bytes each. Elsewhere as
//           the parent.
// EXPECT    beyond the caches up to 1.5 times: a line that is written whole need not be read first, so an
//           element costs 8 bytes of traffic and not 12. Slower in cache: the result leaves for memory at
//           once.
// NUMERICS  copies bits.
// NEEDS     output rows aligned to lines for the gain; nothing to be right.
// TRIED     see NOTES.md, cpu.05_streaming
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/transpose/cpu/05_streaming-inl.h"

// Rows [i, i + rows) and columns [j_begin, j_end).
void tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  const bool aligned = m % 16 == 0 && reinterpret_cast<uintptr_t>(x.out) % 64 == 0;
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    const int64_t cols = std::min(kCols, j_end - j);
    const float* in = x.in + i * n + j;
    float* out = x.out + j * m + i;
    if (aligned) {
      for (int64_t r = 0; r < rows; r += 16) stream_block(in + r * n, n, out + r, m, cols);
    } else {
      transpose_block(in, n, out, m, rows, cols);
    }
  }
}

KLAB_SIMD_ONCE(tile);

#if HWY_ONCE
constexpr int64_t kBand = 32;         // rows
constexpr int64_t kTileCols = 1024;   // 4 kB of each input row
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

#include "kernels/transpose/cpu/05_streaming_run-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "04_threads",
                         .tiles = {16, 32, 1024},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
