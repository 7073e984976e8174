// gs_project_fwd.cpu.03_threads: Gaussians shared out among the cores.
//
// CHANGE    each thread has a contiguous part, of whole lines.
// EXPECT    near the number of cores: some 150 operations for 80 bytes keep memory waiting.
// NUMERICS  as the parent.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"

#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/gaussian/project-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/gs_project_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(project);

#if HWY_ONCE
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
KLAB_SIMD_CLOSE();
#endif
