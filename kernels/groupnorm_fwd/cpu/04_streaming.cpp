// groupnorm_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
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
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Groups [i, end) of all examples.
void normalize(const GroupnormFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const Tag d;
  const int64_t groups = x.shape.groups, each = x.shape.each, hw = x.shape.hw, N = each * hw;
  for (; i < end; ++i) {
    const float* set = x.x + i * N;
    const float mean = sum_of(d, set, N) / float(N);
    const float rstd = 1 / std::sqrt(squares_about(d, set, N, mean) / float(N) + *x.epsilon);
    const float *gamma = x.gamma + i % groups * each, *beta = x.beta + i % groups * each;
    const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
    if (hw == 1)  // every number is its own channel
      write_run(d, x.y + i * N, N, stream, [set, gamma, beta, m, r](const auto& load) HWY_ATTR {
        return hn::MulAdd(load(gamma), hn::Mul(hn::Sub(load(set), m), r), load(beta));
      });
    for (int64_t e = 0; e < each && hw > 1; ++e) {
      const float* in = set + e * hw;
      const V scale = hn::Set(d, gamma[e] * rstd), shift = hn::Set(d, beta[e]);
      write_run(d, x.y + i * N + e * hw, hw, stream, [in, m, scale, shift](const auto& load) HWY_ATTR {
        return hn::MulAdd(hn::Sub(load(in), m), scale, shift);
      });
    }
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const GroupnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n * x.shape.groups;
  const bool stream =
      worth_streaming(all * x.shape.each * x.shape.hw, x.shape.hw > 1 ? x.shape.hw : x.shape.each);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * x.shape.each * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(GroupnormFwd, {.run = run,
                            .parent = "03_threads",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
