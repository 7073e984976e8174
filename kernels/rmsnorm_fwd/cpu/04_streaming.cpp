// rmsnorm_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
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
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end).
void normalize(const RmsnormFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const Tag d;
  const int64_t c = x.shape.c;
  const float* gamma = x.gamma;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const float squares = sum_run(d, c, [row](const auto& load, V sum) HWY_ATTR {
      const V v = load(row);
      return hn::MulAdd(v, v, sum);
    });
    const float rrms = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    const V r = hn::Set(d, rrms);
    write_run(d, x.y + i * c, c, stream, [row, gamma, r](const auto& load) HWY_ATTR {
      return hn::Mul(load(gamma), hn::Mul(load(row), r));
    });
    x.rrms[i] = rrms;
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const RmsnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const bool stream = worth_streaming(all * x.shape.c, x.shape.c);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * x.shape.c >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(RmsnormFwd, {.run = run,
                          .parent = "03_threads",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
