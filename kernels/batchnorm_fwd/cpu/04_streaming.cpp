// batchnorm_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches whole lines of the output leave by streaming stores.
// EXPECT    a plain store reads its line before it changes it: 12 bytes a number move where 8 are compulsory. Up to 1.5 times
//           beyond the caches; within them plain stores stay, and where runs are so short that they share many of their
//           lines.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/batchnorm_fwd/cpu/04_streaming-inl.h"

/// Channels [j, end).
void normalize(const BatchnormFwd::Args<float>& x, int64_t j, int64_t end, bool stream) {
  for (; j < end; ++j) by_runs(x, j, stream);
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const BatchnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const bool stream = worth_streaming(all * BatchnormFwd::count(x.shape), x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * BatchnormFwd::count(x.shape) >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "03_threads",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
