// Where pad2d_bwd turns: at a border that shares its gradient out. Edges and kinds are those of pad2d_fwd.
#include "reference/boundaries.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"

namespace klab {

const Boundary<Pad2dBwd> kMean("mean", {"kind"}, {"kind == PadShape::mean ?"}, kEither,
                               [](const auto& a, Sides& met) { met.holds(a.shape.kind == PadShape::mean); });
const Boundary<Pad2dBwd> kBorder("rows and columns of the border", {"pad_y", "pad_x"}, {}, kEither,
                                 [](const auto& a, Sides& met) {
                                   met.holds(a.shape.pad_y > 0);
                                   met.holds(a.shape.pad_x > 0);
                                 });

}  // namespace klab
