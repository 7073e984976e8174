// gs_rasterize_abs_bwd.cuda.02_warp_sums: the lanes of a warp agree before anything is added in memory.
//
// CHANGE    all lanes stay together on one Gaussian; eleven values are summed over the warp by shuffles, and lane 0 alone adds them.
//           A pixel's absolute values are taken before the sum.
// EXPECT    a thirty-second of the atomic additions, for eleven sums of five shuffles.
// NUMERICS  sums over a warp in a tree, then in whatever order they arrive.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16;

#include "kernels/common/gaussian/02_warp_sums-inl.h"
#include "kernels/common/gaussian/02_warp_sums_walk-inl.h"

#include "kernels/common/gaussian/01_atomics_run-inl.h"

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run,
                                 .parent = "01_atomics",
                                 .forward = "01_thread_per_pixel",
                                 .numerics = {.growth = Growth::linear, .deterministic = false},
                                 .tiles = {kTile, 32}});

}  // namespace
}  // namespace klab
