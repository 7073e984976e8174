// batchnorm_bwd.cpu.03_threads: channels shared out among the cores.
//
// CHANGE    each thread takes a run of channels.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
// TRIED     -
#include <omp.h>

#include "harness/core/registrar.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batchnorm_bwd/cpu/03_threads.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/highway.h"
#include "kernels/common/runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/batchnorm_bwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(gradients);

void run(const BatchnormBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.c;
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  if (all * BatchnormFwd::count(x.shape) < kEnough) return part(x, 0, all);
#pragma omp parallel
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, all * k / parts, all * (k + 1) / parts);
  }
}

KLAB_VARIANT(BatchnormBwd, {.run = run,
                            .parent = "02_simd",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
#endif
