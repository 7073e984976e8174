// The operations of the trainer, for plans.
#pragma once

#include <string>
#include <vector>

namespace klab {

/// The operations that trainer, renderer and image fit are made of, in the order of a training step. composite_loss_bwd is
/// there in place of composite_fwd, pixel_loss_fwd, pixel_loss_bwd and composite_bwd, where the config's losses allow it (see
/// TrainStep::fusable).
const std::vector<std::string>& plan_ops();

}  // namespace klab
