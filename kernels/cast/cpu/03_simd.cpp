// cast.cpu.03_simd: sixteen numbers at a time.
//
// CHANGE    the parent's additions in vectors of the processor's own width; denormals and NaN by selection. The results are
//           packed to two bytes or to one before they are stored.
// EXPECT    about fifteen instructions a vector: in cache eight times the parent; beyond it one core's bandwidth binds.
// NUMERICS  the contract's bits.
// NEEDS     nothing.
// TRIED     -
#include <algorithm>
#include <cstring>

#include "harness/core/registrar.h"
#include "reference/cast/cast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cast/cpu/03_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/cast/cpu/03_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(convert);

void run(const Cast::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convert)(x, 0, x.shape.n); }

KLAB_VARIANT(Cast, {.run = run,
                    .parent = "02_bits",
                    .tiles = {16},
                    .expect = {.shape = {1 << 22, 1}, .over_parent = 3}});

}  // namespace
}  // namespace klab
#endif
