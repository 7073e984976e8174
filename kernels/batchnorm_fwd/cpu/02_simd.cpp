// batchnorm_fwd.cpu.02_simd: vectors along the positions of a channel.
//
// CHANGE    a channel's runs of positions in vectors, one for each example; its second and third reading come from L2.
// EXPECT    the chains of additions are cut into 64: four times at least.
// NUMERICS  64 partial sums with 16 lanes for each run, runs added in double; two passes over a channel.
// NEEDS     nothing.
// TRIED     -
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batchnorm_fwd/cpu/02_simd.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/highway.h"
#include "kernels/common/runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/batchnorm_fwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(normalize);

void run(const BatchnormFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.c); }

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 3}});

}  // namespace
}  // namespace klab
#endif
