// pixel_loss_bwd.cpu.02_simd: a clamp instead of cases, a pixel in each lane.
//
// CHANGE    vectors; the case distinction is a clamp.
// EXPECT    many times the parent in cache; the bandwidth beyond it.
// NUMERICS  a third is a factor instead of a division.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/pixel_loss_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(gradient);

#if HWY_ONCE
void run(const PixelLossBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradient)(x, 0, x.shape.n); }

KLAB_VARIANT(PixelLossBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "02_simd",
                            .tiles = {16},
                            .expect = {.shape = {8192, 1}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
