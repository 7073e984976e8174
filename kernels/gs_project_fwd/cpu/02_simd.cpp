// gs_project_fwd.cpu.02_simd: as many Gaussians at once as a vector has lanes.
//
// CHANGE    the same formulas on vectors; a culled lane is computed with the others and masked at the end.
// EXPECT    all arrays are read and written in order, nothing depends on a neighbor: near the number of
//           lanes, less the time of the divisions and roots.
// NUMERICS  quotients by z and by the determinant as products with a reciprocal.
// NEEDS     nothing; any number of lanes up to 16.
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
void run(const GsProjectFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(project)(x, 0, x.shape.n); }

KLAB_VARIANT(GsProjectFwd, {.run = run,
                            .parent = "01_naive",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {50000, 400, 400, 1}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
