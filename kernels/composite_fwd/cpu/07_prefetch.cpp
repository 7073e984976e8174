// composite_fwd.cpu.07_prefetch: the next piece is prefetched while this one is computed.
//
// CHANGE    two passes over the piece's samples prefetch three of the six streams each, two pieces ahead.
// EXPECT    nothing in cache; beyond it, a good part of the parent's loss there: its passes use memory and
//           arithmetic in turn.
// NUMERICS  as the parent, bit for bit.
// TRIED     see NOTES.md, cpu.07_prefetch
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_fwd/cpu/07_prefetch-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x, 0, x.shape.rays); }

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "06_flat_exponentials",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {1 << 18, 1 << 23}, .over_parent = 1.2},
                            .when = {{1 << 18, 1 << 23}, "samples come from memory"}});
KLAB_SIMD_CLOSE();
#endif
