// batchnorm_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches whole lines of the output leave by streaming stores.
// EXPECT    a plain store reads its line before it changes it: 12 bytes a number move where 8 are compulsory. Up to 1.5 times
//           beyond the caches; within them plain stores stay, and where runs are so short that they share many of their
//           lines.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
// TRIED     -
#include <omp.h>

#include <cmath>

#include "harness/core/registrar.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batchnorm_fwd/cpu/04_streaming.cpp"
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

#include "kernels/batchnorm_fwd/cpu/04_streaming-inl.h"

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
                            .parent = "03_threads",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
#endif
