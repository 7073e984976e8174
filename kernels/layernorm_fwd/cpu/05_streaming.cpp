// layernorm_fwd.cpu.05_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches every row's output is peeled to its first cache line, and from there on whole lines leave by
//           streaming stores.
// EXPECT    a plain store reads its line before it changes it: 12 bytes a feature move where 8 are compulsory. Up to 1.5
//           times beyond the caches. Within them plain stores stay, and for short rows that share their lines.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
// TRIED     see NOTES.md, cpu.05_streaming
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/layernorm_fwd/cpu/03_simd-inl.h"

#include "kernels/layernorm_fwd/cpu/05_streaming-inl.h"

/// Rows [i, end).
void normalize(const LayernormFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const float mean = sum_of(row, c) / float(c);
    const float rstd = 1 / std::sqrt(squares_about(row, c, mean) / float(c) + *x.epsilon);
    normalize_row(x, row, x.y + i * c, mean, rstd, stream);
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const LayernormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  constexpr int64_t kBeyond = 1 << 22;  // features from which on no cache keeps the output
  const int64_t n = x.shape.n, all = n * x.shape.c;
  // A line that two short rows share would leave in two parts, each a separate write.
  const bool stream = all >= kBeyond && (x.shape.c >= 1024 || x.shape.c % 16 == 0);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(n, all >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "04_threads",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
