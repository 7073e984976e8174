// gs_rasterize_abs_bwd.cuda.01_atomics: one thread per pixel, eleven atomic additions for each Gaussian that it takes.
//
// CHANGE    the naive loop.
// EXPECT    all lanes of a warp add to the same eleven words at the same time: additions that the memory does one by one.
// NUMERICS  sums in whatever order they arrive.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16;

#include "kernels/common/gaussian/01_atomics-inl.h"
#include "kernels/common/gaussian/01_atomics_run-inl.h"

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run,
                                 .forward = "01_thread_per_pixel",
                                 .numerics = {.growth = Growth::linear, .deterministic = false},
                                 .tiles = {kTile}});

}  // namespace
}  // namespace klab
