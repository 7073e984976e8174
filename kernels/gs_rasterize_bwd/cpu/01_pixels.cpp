// gs_rasterize_bwd.cpu.01_pixels: one pixel after the other.
//
// CHANGE    the naive loop: a pixel walks through its tile's list once more and adds to nine arrays for each
//           Gaussian.
// EXPECT    nine scattered additions besides the forward's loads, each waiting for the one of the pixel
//           before.
// NUMERICS  sums in the order of the pixels.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {
namespace {

#include "kernels/common/gaussian/01_pixels-inl.h"

KLAB_VARIANT(GsRasterizeBwd, {.run = run, .forward = "01_pixels", .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
