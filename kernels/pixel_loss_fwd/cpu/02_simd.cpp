// pixel_loss_fwd.cpu.02_simd: both cases in one formula, a pixel in each lane.
//
// CHANGE    with s = min(|e|, d) both cases are s·(|e| - s/2): no branch, so lanes do not part.
// EXPECT    many times the parent in cache; the bandwidth beyond it.
// NUMERICS  fused multiply-adds; a third is a factor instead of a division.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/pixel_loss_fwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(loss);

#if HWY_ONCE
void run(const PixelLossFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(loss)(x, 0, x.shape.n); }

KLAB_VARIANT(PixelLossFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16},
                            .expect = {.shape = {8192, 1}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
