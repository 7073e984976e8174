// groupnorm_bwd.cpu.04_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches whole lines of the output leave by streaming stores.
// EXPECT    a plain store reads its line before it changes it: 16 bytes a number move where 12 are compulsory. Up to 1.33
//           times beyond the caches; within them plain stores stay, and where runs are so short that they share many of their
//           lines.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Group `group` of example i: adds to d_gamma and d_beta of its channels, writes d_x.
void one_group(const GroupnormBwd::Args<float>& x, int64_t i, int64_t group, bool stream) {
  const Tag d;
  const int64_t each = x.shape.each, hw = x.shape.hw, N = each * hw, at = i * x.shape.groups + group;
  const float *gamma = x.gamma + group * each, rstd = x.rstd[at];
  const V m = hn::Set(d, x.mean[at]), r = hn::Set(d, rstd);
  float sum = 0, product = 0;
  for (int64_t e = 0; e < each; ++e) {
    const float *in = x.x + at * N + e * hw, *d_y = x.d_y + at * N + e * hw;
    const TwoSums sums = two_sums_run(d, hw, [=](const auto& load, V& plain, V& scaled) HWY_ATTR {
      const V g = load(d_y);
      plain = hn::Add(plain, g);
      scaled = hn::MulAdd(g, hn::Mul(hn::Sub(load(in), m), r), scaled);
    });
    x.d_beta[group * each + e] += sums.first;
    x.d_gamma[group * each + e] += sums.second;
    sum += gamma[e] * sums.first;
    product += gamma[e] * sums.second;
  }
  // d_x = rstd·(g - sum/N - xhat·product/N), with loop constants computed before the loop.
  const V shift = hn::Set(d, rstd * (sum / float(N))), slope = hn::Set(d, rstd * (product / float(N)));
  for (int64_t e = 0; e < each; ++e) {
    const float *in = x.x + at * N + e * hw, *d_y = x.d_y + at * N + e * hw;
    const V scale = hn::Set(d, gamma[e] * rstd);
    write_run(d, x.d_x + at * N + e * hw, hw, stream, [=](const auto& load) HWY_ATTR {
      const V xhat = hn::Mul(hn::Sub(load(in), m), r);
      return hn::NegMulAdd(xhat, slope, hn::MulSub(load(d_y), scale, shift));
    });
  }
}

/// Groups [group, end) of all examples: no two threads add to one channel.
void gradients(const GroupnormBwd::Args<float>& x, int64_t group, int64_t end, bool stream) {
  const int64_t each = x.shape.each;
  std::fill(x.d_gamma + group * each, x.d_gamma + end * each, 0.0F);
  std::fill(x.d_beta + group * each, x.d_beta + end * each, 0.0F);
  for (int64_t i = 0; i < x.shape.n; ++i)
    for (int64_t k = group; k < end; ++k) one_group(x, i, k, stream);
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const GroupnormBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.groups;
  const bool stream = worth_streaming(x.shape.n * all * x.shape.each * x.shape.hw, x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  parallel_ranges(all, x.shape.n * all * x.shape.each * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(GroupnormBwd, {.run = run,
                            .parent = "03_threads",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
