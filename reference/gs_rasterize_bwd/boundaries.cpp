// Where gs_rasterize_bwd turns: the most and the least opaque Gaussians, pixels that are opaque.
#include "reference/gs_rasterize_fwd/boundaries.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {

const RasterBoundaries<GsRasterizeBwd> kShared(RasterCode{
    .most = {}, .least = {}, .stop = {"left.value < GsRasterizeFwd::stop"}});
const NoBoundary<GsRasterizeBwd> kRest(
    {{"std::max(1.0, std::abs", "a bound of rounding errors, which no kernel computes"},
     {"> 0) blur", "a bound of rounding errors, which no kernel computes"},
     {"sums != nullptr && uncertainty", "a bound of rounding errors, which no kernel computes"},
     {"uncertainty > 0 && may_stop", "a bound of rounding errors, which no kernel computes"},
     {"<= doubt * left", "a bound of rounding errors, which no kernel computes"},
     {"sums != nullptr)", "the first of two walks only looks for doubt"}});

}  // namespace klab
