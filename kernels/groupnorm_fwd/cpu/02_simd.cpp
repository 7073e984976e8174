// groupnorm_fwd.cpu.02_simd: whole vectors, four chains of them.
//
// CHANGE    all three loops in vectors; a group is one run for the sums, and one per channel for the output.
// EXPECT    chains are cut into 64: five times at least, until one core's share of the bandwidth binds. Channels of few
//           positions leave lanes empty.
// NUMERICS  64 partial sums with 16 lanes; two passes.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Groups [i, end) of all examples.
void normalize(const GroupnormFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t groups = x.shape.groups, each = x.shape.each, hw = x.shape.hw, N = each * hw;
  for (; i < end; ++i) {
    const float* set = x.x + i * N;
    const float mean = sum_of(d, set, N) / float(N);
    const float rstd = 1 / std::sqrt(squares_about(d, set, N, mean) / float(N) + *x.epsilon);
    const float *gamma = x.gamma + i % groups * each, *beta = x.beta + i % groups * each;
    const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
    if (hw == 1)  // every number is its own channel
      write_run(d, x.y + i * N, N, false, [set, gamma, beta, m, r](const auto& load) HWY_ATTR {
        return hn::MulAdd(load(gamma), hn::Mul(hn::Sub(load(set), m), r), load(beta));
      });
    for (int64_t e = 0; e < each && hw > 1; ++e) {
      const float* in = set + e * hw;
      const V scale = hn::Set(d, gamma[e] * rstd), shift = hn::Set(d, beta[e]);
      write_run(d, x.y + i * N + e * hw, hw, false, [in, m, scale, shift](const auto& load) HWY_ATTR {
        return hn::MulAdd(hn::Sub(load(in), m), scale, shift);
      });
    }
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_SIMD_END(normalize);

#if HWY_ONCE
namespace klab {
namespace {

void run(const GroupnormFwd::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.n * x.shape.groups);
}

KLAB_VARIANT(GroupnormFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 4}});

}  // namespace
}  // namespace klab
#endif
