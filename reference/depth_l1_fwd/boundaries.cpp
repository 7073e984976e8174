// Where depth_l1_fwd turns: depths that are not known, and depths that are exact.
#include "reference/depth_loss_fwd/boundaries.h"
#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {

const depths::FamilyBoundaries<DepthL1Fwd> kFamily;

}  // namespace klab
