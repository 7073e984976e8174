// sh_fwd.cpu.03_simd: a direction in each lane.
//
// CHANGE    vectors over neighboring directions; a product and a difference are fused.
// EXPECT    close to the number of lanes times faster while the outputs stay in cache; they are five times the inputs.
// NUMERICS  as the parent, with fewer roundings.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/sh_fwd/sh_fwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/sh_fwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(encode);

#if HWY_ONCE
void run(const ShFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode)(x, 0, x.shape.n); }

KLAB_VARIANT(ShFwd, {.run = run,
                     .parent = "02_factored",
                     .tiles = {16},
                     .expect = {.shape = {1 << 12, 4}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
