// gs_rasterize_abs_bwd.cpu.04_threads: tiles shared out among the cores, gradients of their own for each.
//
// CHANGE    as gs_rasterize_bwd.cpu.04_threads: thread k of m takes tiles k, k + m, k + 2m ... and adds to an array of its own.
// EXPECT    near the number of cores.
// NUMERICS  sums over a thread's tiles, then over threads.
// NEEDS     64 bytes a Gaussian and thread.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/gaussian/03_vectors-inl.h"

void walk_some(const GsRasterizeAbsBwd::Args<float>& x, const GsRecord* records, int64_t first, int64_t step,
               GsGradient* out) {
  for (int64_t t = first; t < x.shape.tiles(); t += step) walk(x, records, t, out);
}

KLAB_SIMD_ONCE(walk_some);

#if HWY_ONCE
#include "kernels/common/gaussian/04_threads-inl.h"

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run,
                                 .parent = "03_vectors",
                                 .forward = "04_threads",
                                 .numerics = {.growth = Growth::linear},
                                 .tiles = {64},
                                 .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
