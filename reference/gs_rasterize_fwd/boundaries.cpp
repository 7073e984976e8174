// Where gs_rasterize_fwd turns: the most and the least opaque Gaussians, pixels that are opaque.
#include "reference/gs_rasterize_fwd/boundaries.h"

namespace klab {

const RasterBoundaries<GsRasterizeFwd> kShared(RasterCode{
    .most = {"> GsRasterizeFwd::most"}, .least = {"< GsRasterizeFwd::least"}, .stop = {"left.value < stop"}});
const NoBoundary<GsRasterizeFwd> kRest(
    {{"std::max(brightest", "a bound of rounding errors, which no kernel computes"},
     {"<= (4 * v.error", "a bound of rounding errors, which no kernel computes"},
     {"< 2e-3 ||", "draws Gaussians away from borders"},
     {" < 2e-3)", "draws Gaussians away from borders"}});

}  // namespace klab
