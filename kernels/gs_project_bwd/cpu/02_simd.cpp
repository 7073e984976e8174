// gs_project_bwd.cpu.02_simd: as many Gaussians at once as a vector has lanes.
//
// CHANGE    the same formulas on vectors; a culled lane is computed with the others and masked at the end.
// EXPECT    some hundred vectors are alive at a time and 32 registers: many go to the stack and back, in L1. Less than the
//           number of lanes.
// NUMERICS  quotients as products with a reciprocal.
// NEEDS     nothing; any number of lanes up to 16.
// TRIED     -
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gs_project_bwd/cpu/02_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/gs_project-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/gs_project_bwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(backward);
void run(const GsProjectBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(backward)(x, 0, x.shape.n); }

KLAB_VARIANT(GsProjectBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "02_simd",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {50000, 400, 400, 1}, .over_parent = 3}});

}  // namespace
}  // namespace klab
#endif
