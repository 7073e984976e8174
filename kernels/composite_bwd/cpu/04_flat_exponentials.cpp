// composite_bwd.cpu.04_flat_exponentials: exponentials over the stream of samples, only the scans over rays.
//
// CHANGE    rays are taken in pieces of a few hundred samples. The exponentials and their derivative, which know nothing of
//           rays, run over the whole piece; scans and gradients go ray by ray, out of buffers in L1.
// EXPECT    no idle lanes in the exponentials and shorter chains, as in the forward ladder; less in proportion, since
//           more of the backward goes ray by ray.
// NUMERICS  as the parent.
// NEEDS     three buffers of a piece, or of the longest ray.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_bwd/composite_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/composite_bwd/cpu/04_flat_exponentials-inl.h"

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x, 0, x.shape.rays); }

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "03_vector_scan",
                            .forward = "06_flat_exponentials",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
