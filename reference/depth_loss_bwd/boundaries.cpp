// Where depth_loss_bwd turns: depths that are not known have no gradient.
#include "reference/depth_loss_fwd/boundaries.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"

namespace klab {

const depths::FamilyBoundaries<DepthLossBwd> kFamily;

}  // namespace klab
