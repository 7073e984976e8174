// composite_loss_fwd.cpu.02_flat_exponentials: vectors, over whole pieces of the stream where rays do not
// matter.
//
// CHANGE    composite_fwd's four passes over a piece of rays in L1: optical depths, their sums along each
//           ray, transmittances, weighted sums. Opacity and depth are not prefetched; when a ray's color is
//           known, its loss is computed at once.
// EXPECT    20 bytes and some 40 operations per sample, 16 of them for each exponential: the arithmetic takes
//           2.5 vector operations per sample, where the parent calls two functions. 3 times the parent at a
//           mean of 32; the loops of rays remain, and no branch predictor knows where they end.
// NUMERICS  transmittance is the exponential of a sum; the exponential of kernels/common/exp-inl.h (1.7u).
// NEEDS     nothing; any number of lanes from 4 to 16.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_loss_fwd/cpu/02_flat_exponentials-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x, 0, x.shape.rays); }

KLAB_VARIANT(CompositeLossFwd, {.run = run,
                                .parent = "01_serial",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
