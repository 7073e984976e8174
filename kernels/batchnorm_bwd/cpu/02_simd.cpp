// batchnorm_bwd.cpu.02_simd: vectors along the positions of a channel.
//
// CHANGE    the sums of a channel in vectors, run by run; x and d_y come from L2 for the gradient.
// EXPECT    the chains of additions are cut into 32: three times at least.
// NUMERICS  32 partial sums with 16 lanes for each run. Constants of a channel are multiplied beforehand.
// NEEDS     nothing.
// TRIED     -
#include "harness/core/registrar.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batchnorm_bwd/cpu/02_simd.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/highway.h"
#include "kernels/common/runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/batchnorm_bwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(gradients);

void run(const BatchnormBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradients)(x, 0, x.shape.c); }

KLAB_VARIANT(BatchnormBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
