// composite_loss_bwd.cpu.03_flat_exponentials: vectors, over whole pieces of the stream where rays do not
// matter.
//
// CHANGE    composite_bwd's passes over a piece of rays in L1, and the forward's between them: a ray's
//           weighted colors are summed first, so that its color, its loss and the gradient of the color are
//           known. Then the sum over the whole ray is known, too, and gradients of its samples are written as
//           they are computed.
// EXPECT    20 bytes in and 16 out a sample, some 56 operations: 3.5 vector operations per sample with 16
//           lanes. The parent calls two functions a sample and adds in a chain: 3 times at a mean of 32.
// NUMERICS  transmittance is the exponential of a sum; the exponential of kernels/common/exp-inl.h (1.7u).
// NEEDS     16 bytes per sample of the longest ray, which stay in L1.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_loss_bwd/cpu/03_flat_exponentials-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x, 0, x.shape.rays); }

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "02_one_pass",
                                .forward = "02_flat_exponentials",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
