// Where gs_rasterize_abs_bwd turns: as gs_rasterize_bwd.
#include "reference/gs_rasterize_fwd/boundaries.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

namespace klab {

const RasterBoundaries<GsRasterizeAbsBwd> kShared(RasterCode{.most = {}, .least = {}, .stop = {}});

}  // namespace klab
