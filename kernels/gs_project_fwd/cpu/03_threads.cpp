// gs_project_fwd.cpu.03_threads: Gaussians shared out among the cores.
//
// CHANGE    each thread has a contiguous part, of whole lines.
// EXPECT    near the number of cores: some 150 operations for 80 bytes keep memory waiting.
// NUMERICS  as the parent.
// NEEDS     nothing.
// TRIED     -
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gs_project_fwd/cpu/03_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/gs_project-inl.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/gs_project_fwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(project);
constexpr int64_t kStretch = 1024;

void run(const GsProjectFwd::Args<float>& x) {
  const int64_t n = x.shape.n;
#pragma omp parallel for schedule(static) if (n > kStretch)
  for (int64_t begin = 0; begin < n; begin += kStretch)
    HWY_DYNAMIC_DISPATCH(project)(x, begin, std::min(begin + kStretch, n));
}

KLAB_VARIANT(GsProjectFwd, {.run = run,
                            .parent = "02_simd",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {kStretch},
                            .expect = {.shape = {50000, 400, 400, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
