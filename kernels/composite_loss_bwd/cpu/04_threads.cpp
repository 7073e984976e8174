// composite_loss_bwd.cpu.04_threads: rays shared out among the cores.
//
// CHANGE    each thread takes a run of neighboring rays with about as many samples as the others.
// EXPECT    bytes and operations as the parent's, by two cores: 1.6 times or more at a mean of 32. Beyond the caches the
//           bandwidth of the memory.
// NUMERICS  as the parent, bit for bit: a ray is never divided.
// NEEDS     as its parent.
// TRIED     -
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/ray_split.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/composite_loss_bwd/cpu/04_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/composite_loss_bwd/cpu/03_flat_exponentials-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(composite);
void run(const CompositeLossBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
#pragma omp parallel if (x.shape.samples >= kWorthThreads)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, split_rays(x.ray_begin, x.shape.rays, k, parts),
         split_rays(x.ray_begin, x.shape.rays, k + 1, parts));
  }
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "03_flat_exponentials",
                                .forward = "03_threads",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 1.6}});

}  // namespace
}  // namespace klab
#endif
