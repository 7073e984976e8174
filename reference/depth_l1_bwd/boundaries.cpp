// Where depth_l1_bwd turns: depths that are not known have no gradient, and where the depth is exact its sign changes.
#include "reference/depth_loss_fwd/boundaries.h"
#include "reference/depth_l1_bwd/depth_l1_bwd.h"

namespace klab {

const depths::FamilyBoundaries<DepthL1Bwd> kFamily({"x.depth[r] > x.truth[r] ?",
                                                    "x.depth[r] < x.truth[r] ?"});

}  // namespace klab
