// gs_project_fwd.cpu.02_simd: as many Gaussians at once as a vector has lanes.
//
// CHANGE    the same formulas on vectors; a culled lane is computed with the others and masked at the end.
// EXPECT    all arrays are read and written in order, nothing depends on a neighbor: near the number of
//           lanes, less the time of the divisions and roots.
// NUMERICS  quotients by z and by the determinant as products with a reciprocal.
// NEEDS     nothing; any number of lanes up to 16.
// TRIED     -
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gs_project_fwd/cpu/02_simd.cpp"
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
void run(const GsProjectFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(project)(x, 0, x.shape.n); }

KLAB_VARIANT(GsProjectFwd, {.run = run,
                            .parent = "01_naive",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {50000, 400, 400, 1}, .over_parent = 4}});

}  // namespace
}  // namespace klab
#endif
