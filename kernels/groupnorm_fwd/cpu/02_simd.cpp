// groupnorm_fwd.cpu.02_simd: whole vectors, four chains of them.
//
// CHANGE    all three loops in vectors; a group is one run for the sums, and one per channel for the output.
// EXPECT    chains are cut into 64: five times at least, until one core's share of the bandwidth binds. Channels of few
//           positions leave lanes empty.
// NUMERICS  64 partial sums with 16 lanes; two passes.
// NEEDS     nothing.
// TRIED     -
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/groupnorm_fwd/cpu/02_simd.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/highway.h"
#include "kernels/common/runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/groupnorm_fwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(normalize);

void run(const GroupnormFwd::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.n * x.shape.groups);
}

KLAB_VARIANT(GroupnormFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 4}});

}  // namespace
}  // namespace klab
#endif
