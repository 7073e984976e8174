// Where depth_loss_fwd turns: depths that are not known.
#include "reference/depth_loss_fwd/boundaries.h"
#include "reference/depth_loss_fwd/depth_loss_fwd.h"

namespace klab {

const depths::FamilyBoundaries<DepthLossFwd> kFamily;

}  // namespace klab
