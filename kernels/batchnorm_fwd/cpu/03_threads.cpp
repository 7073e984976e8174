// batchnorm_fwd.cpu.03_threads: channels shared out among the cores.
//
// CHANGE    each thread takes a run of channels.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Everything of channel j that follows from its mean and the sum of squares about it.
float finish(const BatchnormFwd::Args<float>& x, int64_t j, float mean, float squares) {
  const int64_t N = BatchnormFwd::count(x.shape);
  const float variance = squares / float(N), rstd = 1 / std::sqrt(variance + *x.epsilon);
  const float unbiased = N > 1 ? squares / float(N - 1) : 0;
  x.mean[j] = mean;
  x.rstd[j] = rstd;
  x.running_mean[j] += *x.momentum * (mean - x.running_mean[j]);
  x.running_var[j] += *x.momentum * (unbiased - x.running_var[j]);
  return rstd;
}

/// A channel in runs of hw numbers, of which it has one in each example.
void by_runs(const BatchnormFwd::Args<float>& x, int64_t j) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw;
  // There may be millions of runs of one position each: in float such a long sum leans to one side.
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += sum_of(d, x.x + j * hw + i * step, hw);
  const auto mean = float(sum / double(n * hw));
  for (int64_t i = 0; i < n; ++i) squares += squares_about(d, x.x + j * hw + i * step, hw, mean);
  const float rstd = finish(x, j, mean, float(squares));
  const V m = hn::Set(d, mean), scale = hn::Set(d, x.gamma[j] * rstd), shift = hn::Set(d, x.beta[j]);
  for (int64_t i = 0; i < n; ++i) {
    const float* run = x.x + j * hw + i * step;
    write_run(d, x.y + j * hw + i * step, hw, false, [run, m, scale, shift](const auto& load) HWY_ATTR {
      return hn::MulAdd(hn::Sub(load(run), m), scale, shift);
    });
  }
}

/// Channels [j, end).
void normalize(const BatchnormFwd::Args<float>& x, int64_t j, int64_t end) {
  for (; j < end; ++j) by_runs(x, j);
}

KLAB_SIMD_END(normalize);

#if HWY_ONCE
namespace klab {
namespace {

void run(const BatchnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * BatchnormFwd::count(x.shape) >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "02_simd",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
#endif
