// gs_project_bwd.cpu.02_simd: as many Gaussians at once as a vector has lanes.
//
// CHANGE    the same formulas on vectors; a culled lane is computed with the others and masked at the end.
// EXPECT    some hundred vectors are alive at a time and 32 registers: many go to the stack and back, in L1. Less than the
//           number of lanes.
// NUMERICS  quotients as products with a reciprocal.
// NEEDS     nothing; any number of lanes up to 16.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"

#include "kernels/common/gaussian/project-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/gs_project_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(backward);

#if HWY_ONCE
void run(const GsProjectBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(backward)(x, 0, x.shape.n); }

KLAB_VARIANT(GsProjectBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "02_simd",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {50000, 400, 400, 1}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
