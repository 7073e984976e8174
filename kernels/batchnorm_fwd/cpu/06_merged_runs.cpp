// batchnorm_fwd.cpu.06_merged_runs: a run gives its mean and its squares at once, and joins what is known of the channel.
//
// CHANGE    of each run the sum, and from L1 at once the squares about the run's own mean; then the run joins what is known of
//           its channel before it (Chan, Golub and LeVeque 1983). Runs of fewer than 256 numbers go the parent's way.
// EXPECT    a channel is read twice, and not three times: what fell out of L1 is not fetched again for the squares. Where
//           a channel fits into L2 that is one reading of three at L2's pace, up to 1.2 times; where it does not, up to
//           1.33 times.
// NUMERICS  the squares of a run are about its own mean; merging, in double, adds positive numbers only.
// NEEDS     nothing.
// TRIED     -
#include <omp.h>

#include <cmath>

#include "harness/core/registrar.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batchnorm_fwd/cpu/06_merged_runs.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/common/runs-inl.h"
#include "kernels/common/streaming.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

/// The mean, and the sum of squares about it, of so many numbers.
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void join(double more, double more_mean, double more_squares) {
    const double all = count + more, apart = more_mean - mean;
    mean += apart * (more / all);
    squares += more_squares + apart * apart * (count * (more / all));
    count = all;
  }
};

/// Of channel j: run by run where runs are long, else in two passes.
Moments moments_of(const BatchnormFwd::Args<float>& x, int64_t j) {
  constexpr int64_t kLong = 256;  // numbers, for which a division and a merge are little
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw;
  const auto run = [&](int64_t i) { return x.x + j * hw + i * step; };
  Moments known;
  if (hw >= kLong) {
    for (int64_t i = 0; i < n; ++i) {
      const float mean = sum_of(d, run(i), hw) / float(hw);
      known.join(double(hw), double(mean), double(squares_about(d, run(i), hw, mean)));
    }
    return known;
  }
  known.count = double(n * hw);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double(sum_of(d, run(i), hw));
  known.mean = double(float(sum / known.count));
  for (int64_t i = 0; i < n; ++i) known.squares += double(squares_about(d, run(i), hw, float(known.mean)));
  return known;
}

/// A channel in runs of hw numbers, of which it has one in each example.
void by_runs(const BatchnormFwd::Args<float>& x, int64_t j, bool stream) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw;
  const Moments moments = moments_of(x, j);
  const auto mean = float(moments.mean);
  const float rstd = finish(x, j, mean, float(moments.squares));
  const V m = hn::Set(d, mean), scale = hn::Set(d, x.gamma[j] * rstd), shift = hn::Set(d, x.beta[j]);
  // Backward: the last runs are still in the nearest cache.
  for (int64_t i = n; i-- > 0;) {
    const float* run = x.x + j * hw + i * step;
    write_run(d, x.y + j * hw + i * step, hw, stream, [run, m, scale, shift](const auto& load) HWY_ATTR {
      return hn::MulAdd(hn::Sub(load(run), m), scale, shift);
    });
  }
}

/// Channels [j, end).
void normalize(const BatchnormFwd::Args<float>& x, int64_t j, int64_t end, bool stream) {
  for (; j < end; ++j) by_runs(x, j, stream);
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(normalize);

void run(const BatchnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const bool stream = worth_streaming(all * BatchnormFwd::count(x.shape), x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  if (all * BatchnormFwd::count(x.shape) < kEnough) return part(x, 0, all, stream);
#pragma omp parallel
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, all * k / parts, all * (k + 1) / parts, stream);
  }
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "04_streaming",
                            .tiles = {16, 64, 256},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.05}});

}  // namespace
}  // namespace klab
#endif
