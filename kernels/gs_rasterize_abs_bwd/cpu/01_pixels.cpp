// gs_rasterize_abs_bwd.cpu.01_pixels: one pixel after the other.
//
// CHANGE    the naive loop: that of gs_rasterize_bwd, and each term of d_mean once more as its absolute value.
// EXPECT    eleven scattered additions in place of nine.
// NUMERICS  sums in the order of the pixels.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

namespace klab {
namespace {

#include "kernels/common/gaussian/01_pixels-inl.h"

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run, .forward = "01_pixels", .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
