// sh_fwd.cpu.03_simd: a direction in each lane.
//
// CHANGE    vectors over neighboring directions; a product and a difference are fused.
// EXPECT    close to the number of lanes times faster while the outputs stay in cache; they are five times the inputs.
// NUMERICS  as the parent, with fewer roundings.
// NEEDS     nothing.
// TRIED     -
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/sh_fwd/sh_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sh_fwd/cpu/03_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/sh_fwd/cpu/03_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(encode);
void run(const ShFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode)(x, 0, x.shape.n); }

KLAB_VARIANT(ShFwd, {.run = run,
                     .parent = "02_factored",
                     .tiles = {16},
                     .expect = {.shape = {1 << 12, 4}, .over_parent = 3}});

}  // namespace
}  // namespace klab
#endif
